use super::*;

fn acl(entries: &[(u16, u16, u32)]) -> SysResult<Option<Acl>> {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, bits, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&bits.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    Acl::parse(&bytes)
}

fn named() -> Acl {
    acl(&[(1, 6, NO_ID), (2, 6, 50), (4, 0, NO_ID), (8, 4, 70), (16, 4, NO_ID), (32, 0, NO_ID)])
        .unwrap()
        .unwrap()
}

#[test]
fn the_mask_is_the_group_of_the_mode() {
    assert_eq!(named().mode(), 0o640);
    assert_eq!(named().with_mode(0o461).mode(), 0o461);
    assert_eq!(named().with_mode(0o461).bits_of(Who::OwningGroup), Some(0));
    assert_eq!(named().limited_to(0o400).mode(), 0o400);
    assert_eq!(Acl::parse(&named().to_bytes()), Ok(Some(named())));
}

#[test]
fn named_users_and_groups_are_bound_by_the_mask() {
    let ownership = Ownership { mode: 0o640, uid: 1, gid: 2 };
    let may = |uid, gid, want| named().permits(ownership, &Credentials::of_user(uid, gid), want);
    assert!(may(50, 9, 4) && !may(50, 9, 2));
    assert!(may(9, 70, 4) && !may(9, 70, 1));
    assert!(!may(9, 2, 4) && !may(9, 9, 4));
}

#[test]
fn refuses_what_is_not_a_list() {
    let base = [(1, 6, NO_ID), (4, 4, NO_ID), (32, 4, NO_ID)];
    assert!(acl(&base).unwrap().unwrap().is_minimal());
    assert_eq!(acl(&[]), Ok(None));
    assert_eq!(acl(&base[..2]), Err(Errno::EINVAL));
    assert_eq!(acl(&[base[0], base[0], base[1], base[2]]), Err(Errno::EINVAL));
    assert_eq!(acl(&[base[0], (2, 6, 50), base[1], base[2]]), Err(Errno::EINVAL));
    assert_eq!(acl(&[(1, 8, NO_ID), base[1], base[2]]), Err(Errno::EINVAL));
    assert_eq!(Acl::parse(&[2, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(Acl::parse(&[3, 0, 0, 0]), Err(Errno::EOPNOTSUPP));
}

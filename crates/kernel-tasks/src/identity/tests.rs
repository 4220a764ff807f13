use super::*;

fn ids(real: Option<u32>, effective: Option<u32>, saved: Option<u32>) -> NewIds {
    NewIds { real, effective, saved }
}

#[test]
fn root_that_becomes_a_user_loses_everything() {
    let root = Credentials::of_user(0, 0);
    let user = set_uid(&root, 1000).unwrap();
    assert_eq!((user.uid, user.euid, user.suid, user.fsuid), (1000, 1000, 1000, 1000));
    assert_eq!((user.permitted, user.effective), (0, 0));
    assert_eq!(set_uid(&user, 0).unwrap_err(), Errno::EPERM);
}

#[test]
fn root_that_steps_aside_can_come_back() {
    let root = Credentials::of_user(0, 0);
    let aside = set_res_uid(&root, ids(None, Some(1000), None)).unwrap();
    assert_eq!(aside.effective, 0);
    assert_ne!(aside.permitted, 0);
    let back = set_uid(&aside, 0).unwrap();
    assert_eq!(back.effective, back.permitted);
}

#[test]
fn keep_caps_keeps_the_permitted_ones() {
    let mut root = Credentials::of_user(0, 0);
    root.securebits = secbit::KEEP_CAPS;
    let user = set_uid(&root, 1000).unwrap();
    assert_eq!(user.permitted, root.permitted);
    assert_eq!(user.effective, 0);
}

#[test]
fn a_user_may_only_swap_its_own_ids() {
    let user = Credentials { euid: 7, suid: 8, ..Credentials::of_user(1000, 1000) };
    let swapped = set_re_uid(&user, ids(Some(7), Some(1000), None)).unwrap();
    assert_eq!((swapped.uid, swapped.euid, swapped.suid), (7, 1000, 1000));
    assert_eq!(set_re_uid(&user, ids(Some(8), None, None)).unwrap_err(), Errno::EPERM);
    assert_eq!(set_res_uid(&user, ids(None, Some(9), None)).unwrap_err(), Errno::EPERM);
}

#[test]
fn a_set_user_id_program_of_root_has_capabilities() {
    let user = Credentials::of_user(1000, 1000);
    let (new, secure) = after_exec(&user, FileIds { set_uid: Some(0), set_gid: None });
    assert!(secure);
    assert_eq!((new.uid, new.euid, new.suid), (1000, 0, 0));
    assert_eq!(new.effective, user.bounding);
    let (plain, secure) = after_exec(&user, FileIds::default());
    assert!(!secure && plain == user);
}

#[test]
fn capset_cannot_gain() {
    let root = Credentials::of_user(0, 0);
    let less = set_capabilities(&root, 1, 3, 0).unwrap();
    assert_eq!(set_capabilities(&less, 1, 7, 0).unwrap_err(), Errno::EPERM);
    assert_eq!(set_capabilities(&less, 4, 3, 0).unwrap_err(), Errno::EPERM);
}

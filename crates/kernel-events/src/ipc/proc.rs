//! The tables in `/proc/sysvipc`.

use std::fmt::Write;

use super::Ipc;

/// The contents of `/proc/sysvipc/sem`.
pub fn sem(ipc: &Ipc) -> String {
    let mut text = String::from(
        "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n",
    );
    for (id, set) in ipc.semaphores.table().all() {
        let ds = set.show(id);
        let perm = ds.perm;
        // Writing to a string does not fail, here and below.
        let _ = writeln!(
            text,
            "{:10} {id:10}  {:4o} {:10} {:5} {:5} {:5} {:5} {:10} {:10}",
            perm.key,
            perm.mode,
            ds.nsems,
            perm.uid,
            perm.gid,
            perm.cuid,
            perm.cgid,
            ds.otime,
            ds.ctime,
        );
    }
    text
}

/// The contents of `/proc/sysvipc/msg`.
pub fn msg(ipc: &Ipc) -> String {
    let mut text = String::from(
        "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      \
         stime      rtime      ctime\n",
    );
    for (id, queue) in ipc.messages.table().all() {
        let ds = queue.show(id);
        let perm = ds.perm;
        let _ = writeln!(
            text,
            "{:10} {id:10}  {:4o}  {:10} {:10} {:5} {:5} {:5} {:5} {:5} {:5} {:10} {:10} {:10}",
            perm.key,
            perm.mode,
            ds.cbytes,
            ds.qnum,
            ds.lspid,
            ds.lrpid,
            perm.uid,
            perm.gid,
            perm.cuid,
            perm.cgid,
            ds.stime,
            ds.rtime,
            ds.ctime,
        );
    }
    text
}

/// The contents of `/proc/sysvipc/shm`.
pub fn shm(ipc: &Ipc) -> String {
    let mut text = String::from(
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      \
         atime      dtime      ctime                   rss                  swap\n",
    );
    for (id, segment) in ipc.shared_memory.table().all() {
        let ds = segment.show(id);
        let perm = ds.perm;
        let _ = writeln!(
            text,
            "{:10} {id:10}  {:4o} {:21} {:5} {:5}  {:5} {:5} {:5} {:5} {:5} {:10} {:10} {:10} {:21} {:21}",
            perm.key,
            perm.mode,
            ds.segsz,
            ds.cpid,
            ds.lpid,
            ds.nattch,
            perm.uid,
            perm.gid,
            perm.cuid,
            perm.cgid,
            ds.atime,
            ds.dtime,
            ds.ctime,
            segment.resident_pages() * 4096,
            0,
        );
    }
    text
}

//! Programs that judge which devices the processes of a group use.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_files::metadata::{DeviceNumber, FileKind};
use kernel_files::special::{DeviceGate, DeviceUse};
use linux_abi::tasks::bpf::AttachFlags;
use linux_abi::{Errno, SysResult};

use super::Cgroup;
use crate::Thread;
use crate::bpf::{DeviceWords, Program};

/// How many programs a group may have.
const MAX_ATTACHED: usize = 64;

/// The programs of one group.
pub struct DevicePrograms {
    programs: RefCell<Vec<Rc<Program>>>,
    /// How they were attached, which is the same for all.
    flags: Cell<AttachFlags>,
    revision: Cell<u64>,
}

impl Default for DevicePrograms {
    fn default() -> Self {
        Self { programs: RefCell::default(), flags: Cell::default(), revision: Cell::new(1) }
    }
}

impl DevicePrograms {
    /// The programs that are attached here.
    pub fn programs(&self) -> Vec<Rc<Program>> {
        self.programs.borrow().clone()
    }

    /// How they were attached.
    pub fn flags(&self) -> AttachFlags {
        self.flags.get()
    }

    /// How often something changed, from 1 on.
    pub fn revision(&self) -> u64 {
        self.revision.get()
    }

    fn is_empty(&self) -> bool {
        self.programs.borrow().is_empty()
    }

    fn is_multiple(&self) -> bool {
        self.flags.get().contains(AttachFlags::ALLOW_MULTI)
    }

    fn count_change(&self) {
        self.revision.set(self.revision.get().saturating_add(1));
    }

    /// The group is removed.
    pub(super) fn clear(&self) {
        let programs = std::mem::take(&mut *self.programs.borrow_mut());
        drop(programs);
    }

    /// Whether a group beneath may have programs.
    fn allows_beneath(&self) -> Option<bool> {
        match (self.is_multiple(), self.is_empty()) {
            (true, _) => Some(true),
            (false, false) => Some(self.flags.get().contains(AttachFlags::ALLOW_OVERRIDE)),
            (false, true) => None,
        }
    }
}

impl Cgroup {
    /// Attaches a program, perhaps in place of another one. The caller has checked the flags.
    /// `EPERM` if a group above, or how others are attached, does not allow it; `E2BIG` if there
    /// are too many.
    pub fn attach(
        &self,
        program: &Rc<Program>,
        replaced: Option<&Rc<Program>>,
        flags: AttachFlags,
    ) -> SysResult<()> {
        let kept = flags & (AttachFlags::ALLOW_OVERRIDE | AttachFlags::ALLOW_MULTI);
        let allowed = self.ancestors().skip(1).find_map(|above| above.devices.allows_beneath());
        let mine = &self.devices;
        if allowed == Some(false) || !mine.is_empty() && mine.flags() != kept {
            return Err(Errno::EPERM);
        }
        let mut programs = mine.programs.borrow_mut();
        if programs.len() >= MAX_ATTACHED {
            return Err(Errno::E2BIG);
        }
        let place_of = |programs: &[Rc<Program>], wanted: &Rc<Program>| {
            programs.iter().position(|it| Rc::ptr_eq(it, wanted))
        };
        let place = if kept.contains(AttachFlags::ALLOW_MULTI) {
            let is_replaced_by_itself = replaced.is_some_and(|it| Rc::ptr_eq(it, program));
            if !is_replaced_by_itself && place_of(&programs, program).is_some() {
                return Err(Errno::EINVAL);
            }
            match replaced {
                Some(replaced) => Some(place_of(&programs, replaced).ok_or(Errno::ENOENT)?),
                None => None,
            }
        } else {
            Some(0)
        };
        match place.and_then(|place| programs.get_mut(place)) {
            Some(slot) => *slot = Rc::clone(program),
            None => programs.push(Rc::clone(program)),
        }
        mine.flags.set(kept);
        mine.count_change();
        Ok(())
    }

    /// Takes a program away. Where several may be, it must be said which (`EINVAL`); `ENOENT` if it
    /// is not there.
    pub fn detach(&self, program: Option<&Rc<Program>>) -> SysResult<()> {
        let mine = &self.devices;
        let mut programs = mine.programs.borrow_mut();
        let place = if mine.is_multiple() {
            let program = program.ok_or(Errno::EINVAL)?;
            programs.iter().position(|it| Rc::ptr_eq(it, program))
        } else {
            (!programs.is_empty()).then_some(0)
        };
        programs.remove(place.ok_or(Errno::ENOENT)?);
        if programs.is_empty() {
            mine.flags.set(AttachFlags::empty());
        }
        mine.count_change();
        Ok(())
    }

    /// The programs that are in force here, those of this group first: its own, or those of the
    /// next group above that has some; and all above that were attached to add up.
    pub fn effective_programs(&self) -> Vec<Rc<Program>> {
        let mut found = Vec::new();
        for group in self.ancestors() {
            if found.is_empty() || group.devices.is_multiple() {
                found.extend(group.devices.programs.borrow().iter().cloned());
            }
        }
        found
    }
}

/// Judges the use of devices by what is attached to the caller's group.
pub struct CgroupDeviceGate;

impl DeviceGate for CgroupDeviceGate {
    fn check(
        &self,
        caller: &dyn Any,
        kind: FileKind,
        number: DeviceNumber,
        wanted: DeviceUse,
    ) -> SysResult<()> {
        const BLOCK: u32 = 1;
        const CHARACTER: u32 = 2;
        // What the kernel opens for itself is not judged.
        let Ok(thread) = Thread::of_caller(caller) else { return Ok(()) };
        let kind = if kind == FileKind::BlockDevice { BLOCK } else { CHARACTER };
        let words: DeviceWords = [wanted.bits() << 16 | kind, number.major, number.minor];
        let programs = thread.process().cgroup().effective_programs();
        if programs.iter().all(|program| program.allows(words)) {
            Ok(())
        } else {
            Err(Errno::EPERM)
        }
    }
}

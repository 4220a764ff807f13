//! Which backends this program was built with. The only file that names them.

use sandbox::Backend;

use crate::failure::Failure;

/// The backend that is used when none is named.
pub const DEFAULT: &str = "kernel";

/// Every backend, the default first.
pub fn all() -> Vec<Box<dyn Backend>> {
    vec![Box::new(backend_kernel::KernelBackend::new())]
}

/// The backend with this name.
pub fn choose(name: &str) -> Result<Box<dyn Backend>, Failure> {
    let backends = all();
    let names: Vec<_> = backends.iter().map(|backend| backend.name()).collect();
    let hint = match names.as_slice() {
        [] => "this build has no backend at all".to_owned(),
        names => format!("this build has: {}", names.join(", ")),
    };
    backends.into_iter().find(|backend| backend.name() == name).ok_or_else(|| {
        Failure::new(format!("there is no backend called `{name}`"))
            .hint(hint)
            .code(Failure::CANNOT_START)
    })
}

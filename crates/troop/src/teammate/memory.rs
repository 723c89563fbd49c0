//! Gives back memory that only the start or a turn needed, so that a hundred idle teammates cost little.

use std::{ffi::c_void, ops::Range};

use rustix::mm::{Advice, madvise};

#[cfg(test)]
mod tests;

/// Gives back the pages of the program's code. They are read from the file again when they are next used.
///
/// The kernel maps whole neighbourhoods of the code that runs, and a start runs a little everywhere: several megabytes, of
/// which an idle teammate uses almost nothing. They count for every process, even though processes share them.
pub(super) fn give_back() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Some(program) = program.to_str() else { return };
    maps.lines().filter_map(|line| code(line, program)).for_each(forget);
}

/// The addresses in a line of `/proc/self/maps`, if they hold code of this program.
fn code(line: &str, program: &str) -> Option<Range<usize>> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()? == "r-xp";
    let is_ours = fields.last()?.trim_start() == program;
    let address = |hex| usize::from_str_radix(hex, 16).ok();
    (is_code && is_ours).then_some(address(start)?..address(end)?)
}

#[expect(unsafe_code, reason = "there is no safe way to give pages back")]
fn forget(code: Range<usize>) {
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(code.start);
    // SAFETY: the pages are code that nothing has written to, so they can be read from the program's file again.
    // Relocated data lies in other mappings, which are not executable.
    let advised = unsafe { madvise(start, code.len(), Advice::LinuxDontNeed) };
    // If the kernel refuses, the pages stay, which does no harm.
    let _ = advised;
}

//! The callers of each thread, from its registers and the copy of its stack in the dump.
//!
//! Release builds have no frame pointers, so unwinding follows the tables that the compiler writes for panics (`.eh_frame`),
//! read from executables found by build id. For modules without tables, `framehop` tries frame pointers.

use crate::symbols::Symbols;
use framehop::aarch64::{CacheAarch64, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, Reg, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use minidump::{MinidumpContext, MinidumpModuleList, MinidumpRawContext, Module as _, UnifiedMemory};
use object::read::ReadCache;
use object::{Object as _, ObjectSection as _};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Maximum callers of one thread: twice the frames with which a stack of 8 MiB overflows.
const FRAMES_MAX: usize = 200_000;

/// A module of the process, and its file.
pub(crate) struct LoadedModule {
    /// First address in the process.
    pub(crate) base: u64,
    /// One past the last.
    pub(crate) end: u64,
    /// Path that it was loaded from.
    pub(crate) path: String,
    /// In hexadecimal digits.
    pub(crate) build_id: Option<String>,
    /// A file with that build id.
    pub(crate) file: Option<PathBuf>,
}

/// All modules, the main executable first.
///
/// Parts of one executable are one module, since addresses in its file count from the beginning of the first. The dump lists them apart if an unmapped page lies
/// between two segments, as happens where the second begins on a page boundary.
pub(crate) fn images(modules: &MinidumpModuleList, symbols: &Symbols) -> Vec<LoadedModule> {
    let mut images: Vec<LoadedModule> = Vec::new();
    for module in modules.iter() {
        let path = module.code_file().into_owned();
        let (base, end) = (module.base_address(), module.base_address() + module.size());
        if let Some(image) = images.iter_mut().find(|image| image.path == path) {
            (image.base, image.end) = (image.base.min(base), image.end.max(end));
            continue;
        }
        let build_id = module.code_identifier().map(|id| id.to_string());
        let file = build_id.as_deref().and_then(|id| symbols.find(id, Path::new(&path)));
        images.push(LoadedModule { base, end, path, build_id, file });
    }
    images
}

/// Unwind tables of all modules.
pub(crate) struct Callers {
    x86_64: UnwinderX86_64<Vec<u8>>,
    aarch64: UnwinderAarch64<Vec<u8>>,
}

impl Callers {
    pub(crate) fn new(images: &[LoadedModule]) -> Self {
        let mut callers = Self { x86_64: UnwinderX86_64::new(), aarch64: UnwinderAarch64::new() };
        for image in images {
            let Some(sections) = image.file.as_deref().and_then(sections) else { continue };
            let module = Module::new(image.path.clone(), image.base..image.end, image.base, sections);
            callers.x86_64.add_module(module.clone());
            callers.aarch64.add_module(module);
        }
        callers
    }

    /// Code addresses from the innermost function outwards: the thread's instruction pointer, then the call instruction of
    /// each caller (a return address may belong to the next line).
    pub(crate) fn of(&self, context: &MinidumpContext, stack: Option<UnifiedMemory<'_, '_>>) -> Vec<u64> {
        let mut read = |address: u64| {
            stack.as_ref().and_then(|stack| stack.get_memory_at_address::<u64>(address)).ok_or(())
        };
        match &context.raw {
            MinidumpRawContext::Amd64(raw) => {
                let mut registers = UnwindRegsX86_64::new(raw.rip, raw.rsp, raw.rbp);
                for (register, value) in [
                    (Reg::RBX, raw.rbx),
                    (Reg::R12, raw.r12),
                    (Reg::R13, raw.r13),
                    (Reg::R14, raw.r14),
                    (Reg::R15, raw.r15),
                ] {
                    registers.set(register, value);
                }
                let mut cache = CacheX86_64::<_>::new();
                collect(self.x86_64.iter_frames(raw.rip, registers, &mut cache, &mut read))
            }
            MinidumpRawContext::Arm64(raw) => {
                let registers = UnwindRegsAarch64::new(raw.iregs[30], raw.sp, raw.iregs[29]);
                let mut cache = CacheAarch64::<_>::new();
                collect(self.aarch64.iter_frames(raw.pc, registers, &mut cache, &mut read))
            }
            _ => vec![context.get_instruction_pointer()],
        }
    }
}

fn collect<U: Unwinder, F: FnMut(u64) -> Result<u64, ()>>(
    mut frames: framehop::UnwindIterator<'_, '_, '_, U, F>,
) -> Vec<u64> {
    let mut addresses = Vec::new();
    // Frames before an error are correct.
    while let Ok(Some(frame)) = frames.next() {
        addresses.push(match frame {
            FrameAddress::InstructionPointer(address) => address,
            FrameAddress::ReturnAddress(_) => frame.address_for_lookup(),
        });
        if addresses.len() == FRAMES_MAX {
            break;
        }
    }
    addresses
}

fn sections(path: &Path) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let data = |name: &str| Some(file.section_by_name(name)?.data().ok()?.to_vec());
    let range = |name: &str| {
        let section = file.section_by_name(name)?;
        Some(section.address()..section.address() + section.size())
    };
    Some(ExplicitModuleSectionInfo {
        base_svma: file.relative_address_base(),
        text_svma: range(".text"),
        text: data(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        ..ExplicitModuleSectionInfo::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use minidump::MinidumpModule;

    #[test]
    fn parts_of_an_executable_with_a_page_between_them_are_one_module() {
        let modules = MinidumpModuleList::from_modules(vec![
            MinidumpModule::new(0x10_0000, 0x5000, "/bin/throng"),
            MinidumpModule::new(0x10_6000, 0x2000, "/bin/throng"),
            MinidumpModule::new(0x20_0000, 0x1000, "/lib/libc.so.6"),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let images = images(&modules, &Symbols::of(folder.path()));
        let ranges: Vec<_> = images.iter().map(|image| (&*image.path, image.base, image.end)).collect();
        let expected = [("/bin/throng", 0x10_0000, 0x10_8000), ("/lib/libc.so.6", 0x20_0000, 0x20_1000)];
        assert_eq!(ranges, expected);
    }
}

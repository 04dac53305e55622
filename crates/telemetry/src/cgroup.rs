//! Memory limit of the process's control group (kernel: Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst).

use std::fs;
use std::path::Path;

/// Usual mount point of the hierarchies.
const MOUNT: &str = "/sys/fs/cgroup";

/// The least limit of the process's group and all groups around it, in bytes; `None` without one.
#[must_use]
pub fn memory_limit_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    limit(&groups, |path| fs::read_to_string(path).ok())
}

/// `groups` has a line "number:controllers:path" for each hierarchy, the unified one without controllers.
fn limit(groups: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (roots, file): (&[&str], _) = if controllers.is_empty() {
            (&["", "unified"], "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (&["memory"], "memory.limit_in_bytes")
        } else {
            continue;
        };
        for root in roots {
            let root = Path::new(MOUNT).join(root);
            // In a container the path may be the host's while the mount begins at the container's own group.
            for group in Path::new(path.trim_start_matches('/')).ancestors() {
                let allowed = read(&root.join(group).join(file)).and_then(|text| text.trim().parse().ok());
                least = least.into_iter().chain(allowed).min();
            }
        }
    }
    least.filter(|&bytes| bytes < UNLIMITED)
}

/// The first version's value for no limit is the largest number of whole pages; no machine has a fraction of it.
const UNLIMITED: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn limit_of(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        let files: BTreeMap<&Path, &str> =
            files.iter().map(|&(path, text)| (Path::new(path), text)).collect();
        limit(groups, |path| files.get(path).map(|&text| text.to_owned()))
    }

    #[test]
    fn the_lowest_limit_of_a_group_and_its_ancestors_counts() {
        let files = [
            ("/sys/fs/cgroup/memory.max", "max\n"),
            ("/sys/fs/cgroup/games/memory.max", "1000000\n"),
            ("/sys/fs/cgroup/games/throng/memory.max", "2000000\n"),
        ];
        assert_eq!(limit_of("0::/games/throng\n", &files), Some(1_000_000));
        assert_eq!(limit_of("0::/\n", &files), None);
        assert_eq!(limit_of("0::/games", &files), Some(1_000_000));
    }

    #[test]
    fn the_first_version_has_a_hierarchy_for_memory_and_a_number_for_none() {
        let groups = "9:name=systemd:/\n4:cpu,memory:/a:b\n0::/\n";
        let unlimited = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit_of(groups, &[unlimited]), None);
        let own = ("/sys/fs/cgroup/memory/a:b/memory.limit_in_bytes", "300\n");
        assert_eq!(limit_of(groups, &[unlimited, own]), Some(300));
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_top() {
        let files = [("/sys/fs/cgroup/memory.max", "500\n")];
        assert_eq!(limit_of("0::/../../docker/1f\n", &files), Some(500));
        assert_eq!(limit_of("", &files), None);
    }
}

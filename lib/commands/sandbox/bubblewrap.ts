/** The arguments of bubblewrap (bwrap) for a list of mounts. */
import { existsSync, realpathSync } from 'node:fs'
import { isDirectory } from '../../base/directories.ts'
import { FILTER_DESCRIPTOR } from '../../base/process.ts'
import { isInside } from '../../store/path-within.ts'
import { type Mount, systemMounts } from './mounts.ts'

/**
 * Variables by which the dynamic loader and the C library load files into any program. bwrap starts outside the sandbox,
 * so one that names a file of the workspace would run that file there.
 */
export const LOADER_VARIABLE = /^(?:LD_\w+|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_\w+)$/

/**
 * Entries of /proc that root could write to although the process is in a namespace of its own: the kernel checks the
 * user id there, not a capability.
 */
const KERNEL_SETTINGS = [
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/proc/irq',
  '/proc/bus',
  '/proc/fs',
  '/proc/acpi',
  '/proc/scsi',
  '/proc/driver',
  '/proc/mtrr',
  '/proc/pressure',
] as const

/** Entries of /proc about all of this computer, which no namespace changes. */
const KERNEL_KEYS = ['/proc/keys', '/proc/key-users'] as const

/** The file that resolves names may be outside /etc: systemd-resolved has it below /run. */
const resolverFile = (): string[] => {
  try {
    const real = realpathSync('/etc/resolv.conf')
    return isInside('/etc', real) ? [] : ['--ro-bind', real, real]
  } catch {
    // Without one, the system's default applies.
    return []
  }
}

const toArguments = ({ path, access, source = path }: Mount): string[] => {
  if (access === 'write') return ['--bind', source, path]
  if (access === 'read') return ['--ro-bind', source, path]
  // A device cannot be opened below a mount without devices: reading fails instead of returning nothing.
  return isDirectory(source) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}

/** The arguments without the program, which follows after `--`. */
export const bubblewrapArguments = ({
  mounts,
  cwd,
  hasNetwork,
  canDisableNamespaces,
  hasFilter = false,
  loaderVariables = {},
}: {
  mounts: readonly Mount[]
  cwd: string
  hasNetwork: boolean
  /** `--disable-userns` exists since version 0.8. */
  canDisableNamespaces: boolean
  /** It gets a filter of system calls. */
  hasFilter?: boolean
  /** Variables for the program inside that bwrap itself must not get; see `LOADER_VARIABLE`. */
  loaderVariables?: Readonly<Record<string, string>>
}): string[] => [
  '--unshare-user',
  '--unshare-ipc',
  '--unshare-pid',
  '--unshare-uts',
  '--unshare-cgroup-try',
  ...(hasNetwork ? [] : ['--unshare-net']),
  ...(canDisableNamespaces ? ['--disable-userns'] : []),
  // The process is the leader of a session without a terminal already (`spawnGroup`), so none can be written to
  // (TIOCSTI), and it stays in the process group that is signaled.
  '--die-with-parent',
  '--cap-drop',
  'ALL',
  ...(hasFilter ? ['--seccomp', String(FILTER_DESCRIPTOR)] : []),
  ...systemMounts().flatMap(({ path, linkTo }) =>
    linkTo === null ? ['--ro-bind', path, path] : ['--symlink', linkTo, path],
  ),
  ...(hasNetwork ? resolverFile() : []),
  '--proc',
  '/proc',
  ...KERNEL_SETTINGS.filter(path => existsSync(path)).flatMap(path => ['--ro-bind', path, path]),
  ...KERNEL_KEYS.filter(path => existsSync(path)).flatMap(path => ['--ro-bind', '/dev/null', path]),
  '--dev',
  '/dev',
  '--tmpfs',
  '/dev/shm',
  '--dir',
  '/var',
  '--symlink',
  '../tmp',
  '/var/tmp',
  ...mounts.flatMap(toArguments),
  // Last: mount points inside them had to be created first.
  ...mounts.flatMap(({ path, access, source = path, closes }) =>
    closes || (access === 'hide' && isDirectory(source)) ? ['--remount-ro', path] : [],
  ),
  '--remount-ro',
  '/dev',
  '--remount-ro',
  '/',
  ...Object.entries(loaderVariables).flatMap(([name, value]) => ['--setenv', name, value]),
  '--chdir',
  cwd,
]

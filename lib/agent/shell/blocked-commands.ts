/** Blocked commands, which no approval permits: their only effect is to destroy the machine or its data. */
import { resolve } from 'node:path/posix'
import { DATA, hasUnknown, UNKNOWN } from './syntax.ts'
import type { ShellContext, SimpleCommand } from './types.ts'

const SYSTEM =
  '/ /applications /bin /boot /dev /etc /home /lib /lib32 /lib64 /library /opt /proc /root /run /sbin /srv /sys /system /users /usr /usr/bin /usr/lib /usr/lib64 /usr/local /usr/sbin /usr/share /var /var/lib /var/log'.split(
    ' ',
  )

/** Files that login or boot depend on. */
const VITAL =
  /^(?:\/private)?\/etc\/(?:passwd|shadow|group|gshadow|sudoers|fstab|master\.passwd|ld\.so\.preload|pam\.d(?:\/.*)?)$|^\/boot\/(?:vmlinuz|initrd|grub)|^\/proc\/sysrq-trigger$/

/** Block devices, whose contents a write destroys. */
const RAW =
  /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|mapper\/|dm-|md\d|loop\d|k?mem\b|port\b|sr\d|n?st\d|sg\d|nbd|z?ram\d|disk\/)/i

const DELETING = 'deleting a system directory or the home directory'

/** Why a command is blocked, or undefined. */
export const blockedReason = (
  command: SimpleCommand,
  context: ShellContext,
): string | undefined => {
  const { name, args, redirects } = command
  const cwd = command.cwd ?? '/somewhere'
  const isProtected = (path: string) => leadsToSystem(path, context.home, cwd)
  const toRaw = (path: string) => RAW.test(resolve(cwd, path))
  const isVital = (path: string) => VITAL.test(resolve(cwd, path))
  const words = args.filter(arg => !arg.startsWith('-'))

  for (const { op, target } of redirects) {
    if (!op.includes('>')) continue
    if (toRaw(target)) return 'writing to a raw device'
    if (/^\/proc\/sysrq-trigger$/.test(resolve(cwd, target))) return 'the system request trigger'
    if (op !== '>>' && op !== '&>>' && isVital(target)) return 'overwriting a file the system needs'
  }
  // A program unknown before run time could be rm.
  if (
    name === 'rm' ||
    name === UNKNOWN ||
    name === 'srm' ||
    name === 'rimraf' ||
    name === 'trash'
  ) {
    if (args.includes('--no-preserve-root')) return 'deleting the root of the file system'
    if ((isRecursive(args) || name === 'rimraf') && args.some(isProtected)) return DELETING
    if (name === 'rm' && args.some(arg => /\/\.?\*$|^\*$/.test(arg) && isProtected(arg)))
      return DELETING
  }
  if (
    /^(?:rm|unlink|shred|truncate|mv|srm)$/.test(name) &&
    words.some(word => isVital(word) && (name !== 'mv' || word !== words.at(-1)))
  )
    return 'deleting a file the system needs'
  if (name === 'find' && deletesAll(args, isProtected, cwd)) return DELETING
  if (name === 'mv' && words.slice(0, -1).some(word => isProtected(word) && !/\/\.?\*$/.test(word)))
    return 'moving a system directory or the home directory away'
  if (name === 'mv' && words.slice(0, -1).some(word => isProtected(word)))
    return 'moving a system directory or the home directory away'
  if (
    /^(?:chmod|chown|chgrp|chattr|setfacl)$/.test(name) &&
    /^-\w*R|^--rec/m.test(args.join('\n'))
  ) {
    const targets = args.filter(isProtected)
    const isHome = (path: string) =>
      resolve(cwd, path.replace(/^~(?=\/|$)/, context.home)).startsWith(context.home)
    const takesAway = args.some(
      arg => /^0?[0-3]?00?0?$|^[augo]*[-=]r?w?x?$|^[augo,]*-[rwx]+/.test(arg) && !/^-R/.test(arg),
    )
    if (targets.some(path => !isHome(path) || (name === 'chmod' && takesAway)))
      return 'changing the permissions of a system directory or the home directory'
  }
  if (
    name === 'rsync' &&
    args.some(arg => /^--(?:del|remove-source)/.test(arg)) &&
    words.length > 0
  ) {
    const removesSource = args.some(arg => arg.startsWith('--remove-source'))
    if (isProtected(words.at(-1) ?? '') || (removesSource && words.slice(0, -1).some(isProtected)))
      return DELETING
  }
  if (name === 'tar' && args.includes('--remove-files') && words.some(isProtected)) return DELETING
  if (/^(?:mkfs(?:\..+)?|mke2fs|mkdosfs|mkntfs|newfs\w*)$/.test(name))
    return 'formatting a file system'
  if (/^(?:wipefs|blkdiscard|scrub|nwipe|dban|sdmem)$/.test(name)) return 'wiping a device'
  if (
    /^(?:dd|dcfldd|dc3dd)$/.test(name) &&
    args.some(arg => arg.startsWith('of=') && (toRaw(arg.slice(3)) || isVital(arg.slice(3))))
  )
    return 'writing to a raw device'
  if (/^(?:tee|sponge)$/.test(name) && !/^-a|--append/.test(args.join(' ')) && words.some(isVital))
    return 'overwriting a file the system needs'
  if (
    /^(?:cp|mv|install|ln|rsync)$/.test(name) &&
    words.length > 1 &&
    isVital(words.at(-1) ?? '') &&
    !/^\/proc\/sysrq/.test(words.at(-1) ?? '')
  ) {
    if (words.slice(0, -1).some(word => /^\/dev\/(?:null|zero|u?random)$/.test(word)))
      return 'overwriting a file the system needs'
  }
  if (writesRaw(name, args, words, toRaw)) return 'writing to a raw device'
  if (
    /^(?:[sfg]disk|sgdisk|cfdisk|parted|partx|delpart|addpart)$/.test(name) &&
    args.some(toRaw) &&
    !isListing(args)
  )
    return 'changing a partition table'
  if (erasesDevice(name, args)) return 'wiping a device'
  if (name === 'killall5' || (name === 'kill' && killsAll(args))) return 'killing every process'
  if (name === 'pkill' && args.some(arg => /^\.[*+]?$|^\^$|^\^?\.\*$/.test(arg)))
    return 'killing every process'
  return endsMachine(name, args) ? 'shutting the machine down' : undefined
}

const READS_RAW =
  /^(?:ls|stat|file|lsblk|blkid|smartctl|df|mount|umount|udisksctl|findmnt|cat|head|tail|xxd|hexdump|od|strings|dd|fsck.*|e2fsck|blockdev|fdisk|sfdisk|gdisk|sgdisk|cfdisk|parted|hdparm|nvme|cryptsetup|badblocks|udevadm|test|\[|echo|printf|grep|eject|swapon|swapoff|dumpe2fs|tune2fs|resize2fs|lvs|pvs|vgs|find|readlink|realpath|md5sum|sha\d+sum|cmp|pv|gzip|zstd|xz|docker|qemu-img|sudo|env|man|chmod|chown)$/

const writesRaw = (
  name: string,
  args: string[],
  words: string[],
  toRaw: (path: string) => boolean,
): boolean => {
  if (/^(?:shred|mkswap|tee|truncate|sponge|badblocks|fallocate|wipe|pvcreate|srm)$/.test(name))
    return args.some(toRaw) && (name !== 'badblocks' || args.some(arg => /^-\w*[wn]/.test(arg)))
  if (
    /^(?:cp|mv|install|rsync|ddrescue|partclone.*|ntfsclone|scp|ln|qemu-img|pv|zcat)$/.test(name) &&
    name !== 'pv' &&
    toRaw(words.at(-1) ?? '')
  )
    return words.length > 1 || name.startsWith('partclone')
  if (/^(?:curl|wget|pv|gcc|sort|openssl|ffmpeg|aria2c)$/.test(name))
    return (
      args.some(
        (arg, at) =>
          /^(?:-o|-O|--output|--output-document|-out)$/.test(arg) && toRaw(args[at + 1] ?? ''),
      ) || args.some(arg => toRaw(/^(?:-[oO]|--output(?:-document)?=)(.+)$/.exec(arg)?.[1] ?? ''))
    )
  if (/^(?:tar|bsdtar|cpio|zip)$/.test(name))
    return args.some(
      (arg, at) => toRaw(arg) && /^-?\w*[cru]\w*f$|^-f$|^--file$/.test(args[at - 1] ?? ''),
    )
  if (/^(?:sed|gsed|perl)$/.test(name))
    return args.some(arg => /^-\w*i/.test(arg)) && args.some(toRaw)
  return (
    name !== UNKNOWN &&
    !READS_RAW.test(name) &&
    words.some(word => toRaw(word)) &&
    /^(?:mk|wipe|erase|format|flash|burn|restore|clone|write)/.test(name)
  )
}

const isRecursive = (args: string[]) =>
  args.some(arg => /^-[a-z]*r/i.test(arg) || /^--r(?:ec?|$)/.test(arg))

/** True for `/`, system directories, and the home directory in any notation: `//etc/.`, `/e*`, `~/*`, `../../..`. */
const leadsToSystem = (path: string, home: string, cwd: string): boolean => {
  if (path === '' || path.startsWith('-') || path.startsWith(UNKNOWN) || path.startsWith(DATA))
    return false
  if (/^~[\w.-]+\/?\*?$/.test(path)) return true
  const full = resolve(cwd, path.replace(/^~(?=\/|$)/, home)).toLowerCase()
  if (hasUnknown(full)) return false
  if (/^\/proc\/(?:self|thread-self|\d+)\/(?:root|cwd)(?:\/\.?\*)?$/.test(full)) return true
  const protectedPaths = [
    ...SYSTEM,
    home.toLowerCase(),
    `/home/${home.split('/').at(-1)?.toLowerCase()}`,
  ]
  // `x/*` empties x as well.
  const emptied = full.replace(/\/(?:[.?]*\*+|\.\[[^/]*|\.\.?\?*)$/, '')
  const wanted = [full, emptied === '' ? '/' : emptied]
  return wanted.some(one =>
    /[*?[]/.test(one)
      ? protectedPaths.some(path => globMatches(one, path))
      : protectedPaths.includes(one),
  )
}

const globMatches = (glob: string, path: string): boolean => {
  if ((glob.match(/[*?[]/g)?.length ?? 0) > 8) return true
  const source = glob
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*+/g, '[^/]*')
    .replace(/\?/g, '[^/]')
    .replace(/\[!/g, '[^')
  try {
    return new RegExp(`^${source}$`).test(path)
  } catch {
    // Unclosed bracket: the shell takes it literally, and no system directory has such a name.
    return false
  }
}

const UNNARROWED =
  /^-(?:type|depth|d|xdev|mount|mindepth|maxdepth|print0?|delete|exec(?:dir)?|ok(?:dir)?|not|o|a|or|and|f|rf|fr|r|n|v|p|z|u|t)$/

const NAMES_ALL = /^(?:\*+|\.\*|\*\.\*|\?\*)$/

/** `find` that deletes everything below a protected path without a restricting test. */
const deletesAll = (
  args: string[],
  isProtected: (path: string) => boolean,
  cwd: string,
): boolean => {
  const first = args.findIndex(arg => /^[-(!]/.test(arg) && !/^-[HLP]$/.test(arg))
  const roots = (first < 0 ? args : args.slice(0, first)).filter(arg => !/^-[HLP]$/.test(arg))
  const rest = first < 0 ? [] : args.slice(first)
  const at = rest.findIndex(arg => /^-(?:exec|ok)(?:dir)?$/.test(arg))
  const deletes =
    rest.includes('-delete') ||
    (at >= 0 &&
      rest.slice(at + 1).some(arg => /(?:^|\/)(?:rm|shred|unlink|srm)$|\brm\s+-/.test(arg)))
  // `-name '*'` restricts nothing.
  const narrowed = rest.some(
    (arg, next) =>
      arg.startsWith('-') &&
      !UNNARROWED.test(arg) &&
      !/^--/.test(arg) &&
      !NAMES_ALL.test(rest[next + 1] ?? ''),
  )
  return deletes && !narrowed && (roots.length === 0 ? [cwd] : roots).some(isProtected)
}

const isListing = (args: string[]) =>
  args.some(arg => /^(?:-l|-p|--list|--print|print|-s|--dump|-d)$/.test(arg))

const erasesDevice = (name: string, args: string[]): boolean =>
  (name === 'cryptsetup' &&
    args.some(arg => /^(?:luksformat|luksErase|erase|reencrypt)$/i.test(arg))) ||
  (name === 'nvme' && args.some(arg => /^(?:format|sanitize)$/.test(arg))) ||
  (name === 'diskutil' &&
    args.some(arg =>
      /^(?:erase|partitionDisk|zeroDisk|randomDisk|secureErase|reformat)/i.test(arg),
    )) ||
  (name === 'zpool' && args.includes('destroy')) ||
  (name === 'mdadm' && args.includes('--zero-superblock')) ||
  name === 'sg_format' ||
  name === 'flashrom' ||
  (name === 'hdparm' &&
    args.some(arg => /^--(?:security-erase|trim-sector|make-bad|write-sector)/.test(arg)))

/** `-1` as a process id means all processes; as the first of several words it is signal 1. */
export const killsAll = (args: string[]): boolean => {
  const [first = '', second = ''] = args
  if (first === '-l' || first === '-L') return false
  const named = /^-(?:s|n|-signal)$/.test(first)
  const targets = named
    ? args.slice(2)
    : /^-(?!-$)/.test(first) && second !== ''
      ? args.slice(1)
      : args
  return targets.includes('-1')
}

const endsMachine = (name: string, args: string[]): boolean => {
  if (/^(?:shutdown|reboot|halt|poweroff|kexec)$/.test(name))
    return (
      !args.some(arg => /^--(?:help|version)$/.test(arg)) &&
      !(name === 'kexec' && !args.some(arg => /^-\w*e|--exec/.test(arg))) &&
      !(name === 'shutdown' && args.some(arg => /^(?:-c|--show)$/.test(arg)))
    )
  if (name === 'init' || name === 'telinit') return args.some(arg => /^[016s]$/i.test(arg))
  if (/^(?:busctl|dbus-send|gdbus|qdbus)$/.test(name))
    return args.some(arg => /\b(?:PowerOff|Reboot|Halt|KExec|RebootWithFlags|Shutdown)\b/.test(arg))
  if (name === 'systemctl' && args.includes('isolate'))
    return args.some(arg =>
      /^(?:poweroff|reboot|halt|rescue|emergency|kexec|runlevel[016]|shutdown)(?:\.target)?$/.test(
        arg,
      ),
    )
  if (
    name === 'systemctl' &&
    args.includes('start') &&
    args.some(arg => /^(?:poweroff|reboot|halt|kexec|shutdown|emergency|rescue)\.target$/.test(arg))
  )
    return true
  if (name === 'launchctl') return args.includes('reboot')
  return (
    (name === 'systemctl' || name === 'loginctl') &&
    args.some(arg =>
      /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency|hibernate-reboot)$/.test(arg),
    )
  )
}

/** Blocked commands as plain text, for input that can't be parsed. */
const TEXT =
  /\brm\s+(?:-{1,2}[\w-]+\s+)*-\w*[rR]\w*\s+(?:-{1,2}[\w-]*\s+)*["']?(?:\/(?:\*|\s|["';&|)]|$)|~\/?(?:\*|\s|["';&|)]|$)|\$\{?HOME\}?\/?(?:\*|\s|["';&|)]|$)|\/(?:etc|usr|var|home|boot|bin|lib)\/?\*?(?:\s|["';&|)]|$))|--no-preserve-root|\bmkfs\.\w+\s+\/dev\/|\bdd\s[^\n;|]*\bof=\/dev\/(?:sd|nvme|hd|vd|mmcblk|disk)|>\s*\/dev\/(?:sd|nvme|hd|vd)[a-z]|:\(\)\s*\{\s*:\s*\|\s*:/

const blockedInText = (text: string): string | undefined => {
  const found = TEXT.exec(text)?.[0]
  if (found === undefined) return undefined
  if (/^rm|preserve/.test(found)) return DELETING
  if (/mkfs/.test(found)) return 'formatting a file system'
  return /\(\)/.test(found) ? 'a fork bomb' : 'writing to a raw device'
}

/** Finds blocked commands in text that couldn't be parsed, but not in arguments of parsed commands. */
export const blockedInUnclear = (
  text: string,
  simples: readonly SimpleCommand[],
): string | undefined => {
  const reason = blockedInText(text)
  if (reason === undefined) return undefined
  const isProse = simples.some(
    ({ name, args }) =>
      /^(?:echo|printf|git|grep|rg|gh|cat|tee|sed|awk)$/.test(name) &&
      args.some(arg => blockedInText(arg) !== undefined),
  )
  return isProse ? undefined : reason
}

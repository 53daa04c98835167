/** The floor that nobody's approval passes: commands whose only effect is to destroy the machine or its data. */
import { resolve } from 'node:path/posix'
import { type Place, type Simple, UNKNOWN } from './shell-commands.ts'

const SYSTEM =
  '/ /applications /bin /boot /dev /etc /home /lib /lib32 /lib64 /library /opt /proc /root /run /sbin /srv /sys /system /users /usr /usr/bin /usr/lib /usr/lib64 /usr/local /usr/sbin /usr/share /var /var/lib /var/log'.split(
    ' ',
  )

/** Devices whose contents are gone when written to. */
const RAW =
  /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|mapper\/|dm-|md\d|loop\d|k?mem\b|port\b|sr\d|n?st\d|sg\d|nbd|z?ram\d)/i

/** A function that pipes itself into itself. */
export const FORK_BOMB =
  /(?<![\w:.])([\w:.]{1,200})\s*\(\s*\)\s*\{[^}]{0,200}?(?<![\w:.])\1\s*\|\s*\1\s*&/

/** The reason why a command may never run, or undefined. */
export const hardlineOf = (text: string, commands: readonly Simple[], place: Place) =>
  FORK_BOMB.test(text)
    ? 'a fork bomb'
    : commands.map(command => reasonFor(command, place)).find(reason => reason !== undefined)

const reasonFor = (command: Simple, place: Place): string | undefined => {
  const { name, args, redirects, cwd } = command
  const isProtected = (path: string) => leadsToSystem(path, place.home, cwd)
  const toRaw = (path: string) => RAW.test(resolve(cwd, path))

  for (const { op, target } of redirects) {
    if (!op.includes('>')) continue
    if (toRaw(target)) return 'writing to a raw device'
    if (/^\/proc\/sysrq-trigger$/.test(target)) return 'the system request trigger'
  }
  // What is only known at run time could be rm.
  if (name === 'rm' || name === UNKNOWN) {
    if (args.includes('--no-preserve-root')) return 'deleting the root of the file system'
    if (isRecursive(args) && args.some(isProtected))
      return 'deleting a system directory or the home directory'
  }
  if (name === 'find' && deletesAll(args, isProtected))
    return 'deleting a system directory or the home directory'
  if (/^(?:mkfs(?:\..+)?|mke2fs|mkdosfs|mkntfs|newfs)$/.test(name))
    return 'formatting a file system'
  if (/^(?:wipefs|blkdiscard|scrub|nwipe)$/.test(name)) return 'wiping a device'
  if (name === 'dd' && args.some(arg => arg.startsWith('of=') && toRaw(arg.slice(3))))
    return 'writing to a raw device'
  if (/^(?:shred|mkswap|tee|cp|mv|install|truncate)$/.test(name) && args.some(toRaw))
    if (/^(?:shred|mkswap|tee|truncate)$/.test(name) || toRaw(args.at(-1) ?? ''))
      return 'writing to a raw device'
  if (/^(?:[sfg]disk|sgdisk|cfdisk|parted)$/.test(name) && args.some(toRaw) && !isListing(args))
    return 'changing a partition table'
  if (erasesDevice(name, args)) return 'wiping a device'
  if (name === 'killall5' || (name === 'kill' && killsAll(args))) return 'killing every process'
  return endsMachine(name, args) ? 'shutting the machine down' : undefined
}

const isRecursive = (args: string[]) =>
  args.some(arg => /^-[a-z]*r/i.test(arg) || /^--rec/.test(arg))

/** True for `/`, system directories and the home, under any spelling: `//etc/.`, `/e*`, `~/*`, `../../..`. */
const leadsToSystem = (path: string, home: string, cwd: string): boolean => {
  if (path === '' || path.startsWith('-')) return false
  if (/^~[\w.-]+\/?\*?$/.test(path)) return true
  const full = resolve(cwd, path.replace(/^~(?=\/|$)/, home)).toLowerCase()
  if (/^\/proc\/(?:self|thread-self|\d+)\/(?:root|cwd)(?:\/\.?\*)?$/.test(full)) return true
  const places = [...SYSTEM, home.toLowerCase(), `/home/${home.split('/').at(-1)?.toLowerCase()}`]
  // `x/*` empties x just as well.
  const emptied = full.replace(/\/(?:[.?]*\*+|\.\[[^/]*|\.\.?\?*)$/, '')
  const wanted = [full, emptied === '' ? '/' : emptied]
  return wanted.some(one =>
    /[*?[]/.test(one) ? places.some(place => globMatches(one, place)) : places.includes(one),
  )
}

const globMatches = (glob: string, path: string): boolean => {
  const source = glob
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*+/g, '[^/]*')
    .replace(/\?/g, '[^/]')
    .replace(/\[!/g, '[^')
  try {
    return new RegExp(`^${source}$`).test(path)
  } catch {
    // An open bracket: the shell takes such a word literally, and no system directory is called so.
    return false
  }
}

const UNNARROWED =
  /^-(?:type|depth|d|xdev|mount|mindepth|maxdepth|print0?|delete|exec(?:dir)?|ok(?:dir)?|not|o|a|or|and|f|rf|fr|r)$/

/** `find` that deletes everything below a protected place, without a test that narrows it. */
const deletesAll = (args: string[], isProtected: (path: string) => boolean): boolean => {
  const first = args.findIndex(arg => /^[-(!]/.test(arg) && !/^-[HLP]$/.test(arg))
  const roots = (first < 0 ? args : args.slice(0, first)).filter(arg => !/^-[HLP]$/.test(arg))
  const rest = first < 0 ? [] : args.slice(first)
  const at = rest.findIndex(arg => /^-(?:exec|ok)(?:dir)?$/.test(arg))
  const deletes =
    rest.includes('-delete') || (at >= 0 && rest.slice(at + 1).some(arg => /(?:^|\/)rm$/.test(arg)))
  // `-name '*'` is a test that everything passes.
  const narrowed = rest.some(
    (arg, next) =>
      arg.startsWith('-') && !UNNARROWED.test(arg) && !/^\*+$/.test(rest[next + 1] ?? ''),
  )
  return deletes && !narrowed && (roots.length === 0 ? ['.'] : roots).some(isProtected)
}

const isListing = (args: string[]) =>
  args.some(arg => /^(?:-l|-p|--list|--print|print|-s)$/.test(arg))

const erasesDevice = (name: string, args: string[]): boolean =>
  (name === 'cryptsetup' &&
    args.some(arg => /^(?:luksformat|luksErase|erase|reencrypt)$/i.test(arg))) ||
  (name === 'nvme' && args.some(arg => /^(?:format|sanitize)$/.test(arg))) ||
  (name === 'hdparm' &&
    args.some(arg => /^--(?:security-erase|trim-sector|make-bad|write-sector)/.test(arg)))

/** `-1` as a process means all of them; as the first word before others it is only signal 1. */
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
  if (/^(?:shutdown|reboot|halt|poweroff)$/.test(name)) return true
  if (name === 'init' || name === 'telinit') return args.some(arg => /^[016s]$/i.test(arg))
  return (
    (name === 'systemctl' || name === 'loginctl') &&
    args.some(arg => /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency)$/.test(arg))
  )
}

/**
 * Commands that no approval permits: their only effect is to destroy the machine or its data. They are for slips:
 * outside a sandbox there are other ways to the same end.
 */
import { resolve } from 'node:path/posix'
import { fromEnvironment } from './paths.ts'
import type { CommandPart, ReadCommand, ShellContext } from './types.ts'

const SYSTEM = new Set(
  '/ /applications /bin /boot /dev /etc /home /lib /lib32 /lib64 /library /opt /proc /root /run /sbin /srv /sys /system /users /usr /usr/bin /usr/lib /usr/local /usr/sbin /usr/share /var /var/lib /var/log'.split(
    ' ',
  ),
)
/** Block devices, whose contents a write destroys. */
const RAW = /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|mapper\/|dm-|md\d|loop\d|k?mem\b)/i
/** Files that login or boot depend on. */
const VITAL =
  /^(?:\/private)?\/etc\/(?:passwd|shadow|group|gshadow|sudoers|fstab)$|^\/boot\/(?:vmlinuz|initrd|grub)|^\/proc\/sysrq-trigger$/

const DELETING = 'deleting a system directory or the home directory'

/** Why the command is refused; null where no rule of the floor applies. */
export const floorReason = (
  command: ReadCommand,
  text: string,
  shell: ShellContext,
): string | null => {
  if (/(\w+|:)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;\s*\1/.test(text)) return 'a fork bomb'
  for (const part of command.parts) {
    const reason = reasonOf(part, shell)
    if (reason !== null) return reason
  }
  return null
}

const reasonOf = ({ name, words, redirects }: CommandPart, shell: ShellContext): string | null => {
  const { home, cwd } = shell
  const args = words.map(({ value, raw }) => value ?? fromEnvironment(raw, shell) ?? '')
  const operands = args.filter(arg => arg !== '' && !arg.startsWith('-'))
  const full = (path: string) =>
    resolve(
      cwd,
      path.replace(/^~(?=\/|$)/, () => home),
    )
  /** A system directory or the home, or everything in it: `/*`. */
  const isSystem = (path: string) => {
    const real = full(path.replace(/\/(?:\*+|\.\*|\.\[!\.\]\*)$/, '/')).toLowerCase()
    return SYSTEM.has(real) || real === home.toLowerCase()
  }
  const isRecursive = args.some(arg => /^-[a-z]*r|^--rec/i.test(arg))
  const last = operands.at(-1) ?? ''
  for (const { op, target } of redirects) {
    if (!op.includes('>') || target === null) continue
    if (RAW.test(full(target))) return 'writing to a raw device'
    if (op !== '>>' && VITAL.test(full(target))) return 'overwriting a file the system needs'
  }
  switch (name) {
    case 'rm':
    case 'srm':
    case 'rimraf':
    case 'trash':
      if (args.includes('--no-preserve-root')) return 'deleting the root of the file system'
      if ((isRecursive || name === 'rimraf') && operands.some(isSystem)) return DELETING
      break
    case 'find':
      if (
        args.includes('-delete') &&
        isSystem(operands[0] ?? cwd) &&
        !args.some(arg => /^-(?:i?name|i?path|i?regex|mtime|newer|size|user)$/.test(arg))
      )
        return DELETING
      break
    case 'mv':
      if (operands.slice(0, -1).some(isSystem))
        return 'moving a system directory or the home directory away'
      break
    case 'chmod':
    case 'chown':
    case 'chgrp':
      if (
        isRecursive &&
        operands.slice(1).some(path => isSystem(path) && (name === 'chmod' || full(path) !== home))
      )
        return 'changing the permissions of a system directory or the home directory'
      break
    case 'dd':
      if (
        args.some(
          arg =>
            arg.startsWith('of=') &&
            (RAW.test(full(arg.slice(3))) || VITAL.test(full(arg.slice(3)))),
        )
      )
        return 'writing to a raw device'
      break
    case 'tee':
    case 'cp':
    case 'install':
      if (RAW.test(full(last))) return 'writing to a raw device'
      break
    case 'wipefs':
    case 'blkdiscard':
    case 'shred':
      if (operands.some(path => RAW.test(full(path)))) return 'wiping a device'
      break
    case 'kill':
      if (args.at(-1) === '-1' && args.length > 1) return 'killing every process'
      break
    case 'killall5':
      return 'killing every process'
    case 'shutdown':
    case 'reboot':
    case 'halt':
    case 'poweroff':
      return args.some(arg => /^(?:-c|--help|--show|--version)$/.test(arg))
        ? null
        : 'shutting the machine down'
    case 'systemctl':
      if (
        args.some(arg =>
          /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency)(?:\.target)?$/.test(arg),
        )
      )
        return 'shutting the machine down'
      break
    case 'init':
    case 'telinit':
      if (/^[06]$/.test(last)) return 'shutting the machine down'
  }
  if (/^(?:rm|unlink|shred|truncate)$/.test(name) && operands.some(path => VITAL.test(full(path))))
    return 'deleting a file the system needs'
  return /^(?:mkfs(?:\..+)?|mke2fs|mkdosfs|mkntfs|newfs\w*)$/.test(name)
    ? 'formatting a file system'
    : null
}

/** Classifies the program of a command: known programs by their options, package managers, network tools, and unrecognized ones. */
import { isShell, languageOf } from './interpreters.ts'
import { OUTSIDE, unrecognized } from './labels.ts'
import type { LocalPrograms } from './local-programs.ts'
import { networkLabels } from './network.ts'
import { packageLabels } from './packages.ts'
import type { AddFinding } from './path-effects.ts'
import { PROGRAM_CLASSIFIERS } from './program-classifiers.ts'
import { DENIED, READ_ONLY, TOOLS } from './programs.ts'
import type { ShellContext, SimpleCommand } from './types.ts'

/** Labels of the kinds in `DENIED`. */
const DENIED_LABELS: Record<'command' | 'write' | 'system' | 'secret', string> = {
  command: 'program starts another command',
  write: OUTSIDE,
  system: 'system administration',
  secret: 'credential file read',
}

const SYSTEM_CHANGES =
  /^(?:useradd|userdel|usermod|adduser|deluser|groupadd|groupdel|groupmod|gpasswd|passwd|chpasswd|chsh|chfn|vipw|visudo|newusers|umount|swapon|swapoff|losetup|insmod|rmmod|depmod|lvremove|lvcreate|vgremove|pvremove|mdadm|dmsetup|setenforce|setcap|chattr|setfacl|iptables-restore|ebtables|nftables|ufw|wg|wg-quick|openvpn|update-alternatives|update-grub|grub-install|efibootmgr|ldconfig|authconfig|pam-auth-update|timedatectl|hwclock|ntpdate|sysctl|csrutil|nvram|pmset|spctl|dpkg-reconfigure|make-install|tuned-adm|cpupower|xattr|setsebool|semanage|auditctl|mknod|pivot_root|chcon|restorecon|hdparm|nvme|nsenter|fsck.*|tune2fs|resize2fs|e2fsck|debugfs|partprobe|quotaon|exportfs|smbpasswd|kinit|realm|pam_tally2|faillock|mkswap|cryptsetup)$/
const SCHEDULES = /^(?:crontab|at|batch|atrm|anacron|systemd-run|fcrontab)$/

/** Adds the findings of a program and its options. True if the call is read-only. */
export const classifyProgram = (
  simple: SimpleCommand,
  context: ShellContext,
  local: LocalPrograms,
  addFinding: AddFinding,
): boolean => {
  const { name, args, path } = simple
  const words = args.filter(arg => !arg.startsWith('-'))
  const tool = /^(?:gradle|mvn)w$/.test(name)
    ? name.slice(0, -1)
    : /^(?:npx|pnpx|bunx)$/.test(name)
      ? (words[0] ?? '').replace(/(?<=.)@.*$/, '')
      : name
  for (const [pattern, kind] of Object.hasOwn(DENIED, tool) ? (DENIED[tool] ?? []) : [])
    if (args.some(arg => pattern.test(arg))) addFinding(DENIED_LABELS[kind])
  if (/^(?:rimraf|del-cli|shx|trash-cli)$/.test(tool) && tool !== name)
    addFinding('recursive delete')
  if (path.includes('/') && local.isLocalProgram(path, simple.cwd)) {
    local.classifyFile(simple, addFinding)
    return false
  }
  if (/^(?:shred|srm|wipe)$/.test(name)) addFinding('empty an existing file')
  if (SYSTEM_CHANGES.test(name)) addFinding('system administration')
  if (SCHEDULES.test(name) && !(name === 'crontab' && args.includes('-l')))
    addFinding('scheduled command')
  const network = networkLabels(simple)
  for (const label of network ?? []) addFinding(label)
  if (network) return false
  const own = PROGRAM_CLASSIFIERS.get(name)?.({ simple, words, context, local, addFinding })
  if (own !== undefined) return own
  const packages = packageLabels(simple, local.hasPackage)
  for (const label of new Set(packages ?? [])) addFinding(label)
  if (packages) return false
  if (READ_ONLY.has(name)) return true
  if (
    TOOLS.has(name) ||
    isShell(name) ||
    languageOf(name) ||
    /^(?:python|pip|perl|ruby|php|node|lua|gcc|clang|g\+\+)[\d.-]+$/.test(name)
  ) {
    if (simple.from.length > 0 && name === 'xargs' && words.length === 0) return true
    return /^(?:sudo|env|nice|timeout|time|command|builtin|exec|nohup|stdbuf)$/.test(name)
  }
  if (simple.wraps) return false
  if (
    /^(?:format|dd|mkfs)/.test(name) ||
    SYSTEM_CHANGES.test(name) ||
    SCHEDULES.test(name) ||
    /^(?:shred|srm|wipe|rimraf|shutdown|reboot|halt|poweroff|init|telinit)$/.test(name)
  )
    return false
  addFinding(unrecognized(name.replace(/[^\w.+@-]/g, '?').slice(0, 60)), { isUnclear: true })
  return false
}

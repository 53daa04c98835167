/** Classifies one command and returns the reasons for approval. */
import { classifyAwk } from './awk.ts'
import { DENIED, READ_ONLY, TOOLS } from './programs.ts'
import { ELSEWHERE, OUTSIDE, UNCLEAR, unrecognized } from './labels.ts'
import { runsElsewhere } from './outside-workspace.ts'
import { blockedReason } from './blocked-commands.ts'
import { readGit } from './git.ts'
import { isShell, languageOf, sedScripts } from './interpreters.ts'
import {
  networkLabels,
  readCurl,
  readHttpie,
  readWget,
  SENDS,
  sendsInAddress,
  sendsInName,
} from './network.ts'
import { packageLabels } from './packages.ts'
import { isSecret, kindOf, pathsIn, absolute } from './paths.ts'
import { readSed } from './sed.ts'
import { RULES } from './rules.ts'
import { setsLoadedVariable } from './environment.ts'
import {
  type AddFinding,
  classifyControlAccess,
  classifyOwnAccess,
  classifyPaths,
} from './path-effects.ts'
import { touchedFiles, readsOf } from './touched-files.ts'
import { HIDDEN_INDEX, hasUnknown, UNKNOWN } from './syntax.ts'
import type { Finding, ShellContext, SimpleCommand } from './types.ts'
import type { LocalPrograms } from './local-programs.ts'

const ASKS: Record<'command' | 'write' | 'system' | 'secret', string> = {
  command: 'program starts another command',
  write: OUTSIDE,
  system: 'system administration',
  secret: 'credential file read',
}

const SYSTEM_CHANGES =
  /^(?:useradd|userdel|usermod|adduser|deluser|groupadd|groupdel|groupmod|gpasswd|passwd|chpasswd|chsh|chfn|vipw|visudo|newusers|umount|swapon|swapoff|losetup|insmod|rmmod|depmod|lvremove|lvcreate|vgremove|pvremove|mdadm|dmsetup|setenforce|setcap|chattr|setfacl|iptables-restore|ebtables|nftables|ufw|wg|wg-quick|openvpn|update-alternatives|update-grub|grub-install|efibootmgr|ldconfig|authconfig|pam-auth-update|timedatectl|hwclock|ntpdate|sysctl|csrutil|nvram|pmset|spctl|dpkg-reconfigure|make-install|tuned-adm|cpupower|xattr|setsebool|semanage|auditctl|mknod|pivot_root|chcon|restorecon|hdparm|nvme|nsenter|fsck.*|tune2fs|resize2fs|e2fsck|debugfs|partprobe|quotaon|exportfs|smbpasswd|kinit|realm|pam_tally2|faillock|mkswap|cryptsetup)$/
const SCHEDULES = /^(?:crontab|at|batch|atrm|anacron|systemd-run|fcrontab)$/

/** Builtins that evaluate an array index in their arguments and run substitutions in it. */
const EVALUATES =
  /^(?:\[\[?|test|let|declare|typeset|local|readonly|export|printf|unset|read|wait|mapfile|readarray|getopts)$/

const DROPS =
  /^(?:db:(?:drop|reset|purge|wipe|migrate:reset)(?::\w+)?|migrate:(?:fresh|reset|refresh)|doctrine:(?:database|schema):drop|ecto\.(?:drop|reset)|schema:drop|reset_db)$/

/** Subcommands of web frameworks that delete a database. */
const dropsData = ({ name, args }: SimpleCommand): boolean =>
  args.some(arg => DROPS.test(arg)) ||
  (args.some(arg => /(?:^|\/)manage\.py$/.test(arg)) && args.includes('flush')) ||
  (name === 'manage.py' && args.includes('flush')) ||
  (args.includes('prisma') && args.some(arg => /^(?:reset|--force-reset)$/.test(arg))) ||
  (name === 'dotnet' && args[0] === 'ef' && args.includes('drop'))

/** A file server that serves more than the workspace. */
const servesOutside = ({ name, args, cwd }: SimpleCommand, context: ShellContext): boolean => {
  const isServer =
    args.some(arg => /^(?:http\.server|http-server|serve|live-server)$/.test(arg)) ||
    /^(?:http-server|serve|live-server)$/.test(name) ||
    (name === 'php' && args.includes('-S'))
  if (!isServer) return false
  const isOutside = (path: string) => /^(?:outside|system)$/.test(kindOf(path, cwd, context))
  return (
    isOutside('.') ||
    args.some(
      arg =>
        /^(?:[~/]|\.\.)/.test(arg.replace(/^--?\w+=/, '')) &&
        isOutside(arg.replace(/^--?\w+=/, '')),
    )
  )
}

/** Without the filter of jq and similar programs, where `.env` is a key. */
const filesOf = (simple: SimpleCommand): string[] => {
  const reads = readsOf(simple)
  const { name, args } = simple
  if (!/^(?:jq|gojq|yq)$/.test(name) || args.some(arg => /^(?:-\w*f|--from-file)/.test(arg)))
    return reads
  const at = args.findIndex(arg => !arg.startsWith('-'))
  const filter = args[at]
  return /^-(?:\w*[nrcsSeajCMR]\w*|-(?!arg|slurpfile|rawfile|indent)\S*)$/.test(
    args[at - 1] ?? '-n',
  )
    ? reads.filter((path, next) => path !== filter || reads.indexOf(path) !== next)
    : reads
}

/** The reasons for approval of one command, including blocks. `isReadOnly`: it certainly changes nothing. */
export const classifyCommand = (
  simple: SimpleCommand,
  context: ShellContext,
  local: LocalPrograms,
): { findings: Finding[]; isReadOnly: boolean } => {
  const findings: Finding[] = []
  const addFinding = (label: string, more: Partial<Finding> = {}) =>
    findings.push({ label, ...more })
  const { name, args, redirects, cwd } = simple

  const blocked = blockedReason(simple, context)
  if (blocked !== undefined) addFinding(UNCLEAR, { blocked })
  if (name === UNKNOWN) addFinding(UNCLEAR, { isUnclear: true })

  const line = [name, ...args, ...redirects.map(({ op, target }) => `${op} ${target}`)].join(' ')
  const isProse =
    READ_ONLY.has(name) ||
    (name === 'git' && /^(?:commit|log|tag|grep|show|notes|config)$/.test(readGit(args).sub)) ||
    /^(?:gh|glab|npm)$/.test(name)
  for (const rule of RULES) {
    const text =
      isProse || languageOf(name)
        ? typeof simple.input === 'string' && !isProse
          ? simple.input
          : ''
        : `${line}\n${simple.input ?? ''}`
    if (
      rule.command?.(simple, context) ||
      (rule.text &&
        (rule.text.test(text) ||
          (/^cloud/.test(rule.label) &&
            rule.text.test(line) &&
            !/^(?:echo|grep|rg|printf)$/.test(name))))
    )
      addFinding(rule.label)
  }

  let isReadOnly = false
  if (name === '' || name === ':') isReadOnly = true
  else if (name !== UNKNOWN) isReadOnly = classifyProgram(simple, context, local, addFinding)

  if (EVALUATES.test(name) && args.some(arg => HIDDEN_INDEX.test(arg)))
    addFinding(UNCLEAR, { isUnclear: true })
  if (simple.assigns.some(([, value]) => HIDDEN_INDEX.test(value)))
    addFinding(UNCLEAR, { isUnclear: true })
  if (!isProse && dropsData(simple)) addFinding('SQL DROP')
  if (servesOutside(simple, context) || sendsInName(simple, context)) addFinding(SENDS)
  const where = runsElsewhere(simple, context)
  if (where === 'outside') addFinding(ELSEWHERE)
  else if (where === 'unknown') addFinding(UNCLEAR, { isUnclear: true })
  if (setsLoadedVariable(simple)) addFinding('environment that changes other programs')

  const touched = touchedFiles(simple)
  const isQuiet = classifyPaths(simple, touched, context, addFinding)
  isReadOnly = isReadOnly && isQuiet

  // Secrets and control files.
  if (
    !/^(?:ls|stat|chmod|chown|ssh|ssh-keygen|ssh-add|mkdir|test|\[|\[\[|find|basename|dirname|echo|printf|realpath|readlink|cd|pushd|touch|which|git|docker|export|exa|eza|tree|du)$/.test(
      name,
    ) ||
    redirects.some(({ op }) => op === '<')
  )
    for (const path of pathsIn(filesOf(simple))) {
      const full = absolute(path, cwd, context)
      if (
        full !== null &&
        isSecret(full, context) &&
        !(touched.writes.includes(path) && !/^(?:cp|mv|ln|rsync|sed|tee)$/.test(name))
      )
        addFinding('credential file read')
    }
  if (
    /^(?:grep|egrep|fgrep|rg|ag|ack|cp|rsync|tar|zip|scp|rclone|ditto|7z)$/.test(name) &&
    (name === 'rg' ||
      args.some(arg => /^-\w*[rRac]|^--rec|^--archive|^--hidden|^[a-z]*c[a-z]*f/.test(arg)) ||
      /^(?:rsync|zip)$/.test(name))
  )
    for (const path of args
      .filter(arg => !arg.startsWith('-'))
      .slice(/^(?:cp|rsync|tar|zip)$/.test(name) ? 0 : 1)) {
      const full = absolute(path, cwd, context)
      if (
        full === context.home ||
        full === '/' ||
        full === '/home' ||
        full === '/root' ||
        full === '/etc'
      )
        addFinding('credential file read')
    }
  if (redirects.some(({ target }) => /\/dev\/(?:tcp|udp)\//.test(target)))
    addFinding('network shell')
  classifyControlAccess(simple, touched, context, addFinding)
  classifyOwnAccess(simple, context, addFinding)
  return { findings, isReadOnly: isReadOnly && findings.length === 0 }
}

/** True if it is read-only. */
const classifyProgram = (
  simple: SimpleCommand,
  context: ShellContext,
  local: LocalPrograms,
  addFinding: AddFinding,
) => {
  const { name, args, path, input } = simple
  const words = args.filter(arg => !arg.startsWith('-'))
  const tool = /^(?:gradle|mvn)w$/.test(name)
    ? name.slice(0, -1)
    : /^(?:npx|pnpx|bunx)$/.test(name)
      ? (words[0] ?? '').replace(/(?<=.)@.*$/, '')
      : name
  for (const [pattern, kind] of Object.hasOwn(DENIED, tool) ? (DENIED[tool] ?? []) : [])
    if (args.some(arg => pattern.test(arg))) addFinding(ASKS[kind])
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
  switch (name) {
    case 'git': {
      const call = readGit(args)
      for (const label of call.labels)
        addFinding(label, label === UNCLEAR ? { isUnclear: true } : {})
      return call.isReadOnly
    }
    case 'curl':
    case 'wget':
    case 'http':
    case 'https':
    case 'xh': {
      const { labels, urls } =
        name === 'curl' ? readCurl(simple) : name === 'wget' ? readWget(simple) : readHttpie(simple)
      if (sendsInAddress(urls, context, local.hasQuoted)) labels.push(SENDS)
      for (const label of new Set(labels)) addFinding(label)
      return false
    }
    case 'find':
    case 'gfind':
      if (args.some(arg => arg.startsWith(UNKNOWN))) addFinding(UNCLEAR, { isUnclear: true })
      return !args.some(arg => /^-(?:delete|exec|execdir|ok|okdir|fprint0?|fprintf|fls)$/.test(arg))
    case 'fd':
    case 'fdfind':
      return !args.some(arg => /^(?:-[xX]|--exec)/.test(arg))
    case 'sed':
    case 'gsed': {
      const scripts = sedScripts(args)
      if (
        scripts.some(script => hasUnknown(script) && /^[\0\u0001]/.test(script)) ||
        args.some(arg => /^(?:-[a-zA-Z]*f|--file)/.test(arg))
      )
        addFinding(UNCLEAR, { isUnclear: true })
      const read = scripts.map(script => readSed(script.replace(/[\0\u0001]/g, 'x')))
      if (read.some(({ runs }) => runs.length > 0)) addFinding('program starts another command')
      if (read.some(({ isClear }) => !isClear)) addFinding(UNCLEAR, { isUnclear: true })
      return (
        !args.some(arg => /^-[a-zA-Z]*i|^--in/.test(arg)) &&
        read.every(({ writes }) => writes.length === 0)
      )
    }
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      classifyAwk(simple, addFinding)
      return true
    case 'kill':
    case 'pkill':
    case 'killall': {
      if (args.some(arg => /^-[luUg]$/.test(arg)) && name === 'pkill') addFinding('end a process')
      if (
        name === 'kill' &&
        killTargets(args).some(arg => /^-\d+$|^[01]$/.test(arg)) &&
        !args.includes('-l')
      )
        addFinding('end a process')
      if (
        name !== 'kill' &&
        words.some(word =>
          /^(?:python[\d.]*|(?:ba|z|fi)?sh|java|ruby|perl|php|docker|code|\.\*?)$/.test(word),
        )
      )
        addFinding('end a process')
      if (name === 'killall' && args.some(arg => /^-[ur]|^--user|^--regexp/.test(arg)))
        addFinding('end a process')
      return false
    }
    case 'chmod':
    case 'chown':
    case 'chgrp':
      if (
        args.some(arg => /^-\w*R|^--rec/.test(arg)) &&
        words.some(
          word =>
            kindOf(word, simple.cwd, context) !== 'workspace' &&
            word.includes('/') &&
            kindOf(word, simple.cwd, context) !== 'temporary',
        )
      )
        addFinding('broad permission change')
      if (name === 'chmod' && args.some(arg => /^[ugoa]*\+\w*s|^[2467]\d{3}$/.test(arg)))
        addFinding('broad permission change')
      if (name !== 'chmod') addFinding('broad permission change')
      return false
    case 'psql':
    case 'mysql':
    case 'mariadb':
    case 'sqlite3':
    case 'sqlite':
    case 'mongosh':
    case 'redis-cli':
      if (
        [...args, input ?? ''].some(
          arg =>
            typeof arg === 'string' &&
            /(?:^|[\n;"'\s])\s*(?:\\!|\.shell|\.system|\.load\b|\.import\b.*\||system\s|\\copy.*program|\bcopy\b[\s\S]*\bprogram\b|\.output\s*\||\\o\s*\||\\g\s*\||load_extension|pg_read_file|lo_export|into\s+(?:out|dump)file|\.once\s*\||attach\s+database|writefile\s*\()/i.test(
              arg,
            ),
        )
      )
        addFinding('program starts another command')
      if (input === null) addFinding(UNCLEAR, { isUnclear: true })
      break
    case 'npx-unknown':
      break
    case 'ed':
    case 'ex':
    case 'vi':
    case 'vim':
    case 'nvim':
    case 'view':
    case 'emacs':
      addFinding('program starts another command')
      return false
    case 'alias':
      if (words.some(word => word.includes('='))) addFinding(UNCLEAR, { isUnclear: true })
      return true
    case 'source':
    case '.':
      return false
    case 'tar':
    case 'bsdtar':
      if (args.some(arg => arg.startsWith(UNKNOWN))) addFinding(UNCLEAR, { isUnclear: true })
      if (args.includes('--remove-files')) addFinding('recursive delete')
      if (/^(?=[a-zA-Z]*x)[a-zA-Z]*P/.test(args[0] ?? '')) addFinding(OUTSIDE)
      return false
    case 'systemd-run':
      addFinding('scheduled command')
      return false
    case 'sudo':
    case 'doas':
    case 'su':
    case 'pkexec':
    case 'run0':
      if (
        words.length === 0 ||
        args.some(arg => /^(?:-e|--edit|-s|-i|--shell|--login|-b)$/.test(arg) && words.length === 0)
      )
        addFinding('system administration')
      if (args.some(arg => /^(?:-e|--edit)$/.test(arg)) || name === 'su')
        addFinding('system administration')
      return true
    case 'rsync':
      if (args.some(arg => /^--(?:del|remove-s)/.test(arg))) addFinding('recursive delete')
      return false
    case 'make':
    case 'gmake':
      if (
        args.some(
          (arg, at) =>
            /^(?:-f|--file|--makefile)$/.test(arg) &&
            /^(?:-|\/dev\/stdin)$/.test(args[at + 1] ?? ''),
        ) ||
        args.some(arg => /^(?:-f-|-f\/dev|--file=(?:-|\/dev)|--makefile=-)/.test(arg))
      )
        addFinding('program starts another command')
      if (words.some(word => /^(?:install|uninstall|deploy|publish|release|push)$/.test(word)))
        addFinding(/install/.test(words.join(' ')) ? OUTSIDE : 'publish to others')
      break
  }
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

/** Process and group ids, without the signal. */
const killTargets = (args: string[]): string[] =>
  args.filter(
    (arg, at) =>
      arg !== '--' &&
      !(at === 0 && args.length > 1 && /^-[\w]+$/.test(arg)) &&
      !/^-[sn]$/.test(args[at - 1] ?? ''),
  )

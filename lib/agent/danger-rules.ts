/** The table of commands that a person is asked about first. Labels are stored in `command_allowlist`: never change one. */
import { FORK_BOMB, killsAll } from './hardline.ts'
import { isShell, type Simple } from './shell-commands.ts'

export type Rule = {
  label: string
  /** On the whole text, quotes resolved or not. */
  text?: RegExp
  command?: (command: Simple) => boolean
}

const isAny =
  (...names: string[]) =>
  (command: Simple) =>
    names.includes(command.name)
const has = (command: Simple, pattern: RegExp) => command.args.some(arg => pattern.test(arg))
const writes = ({ redirects }: Simple, pattern: RegExp) =>
  redirects.some(({ op, target }) => op.includes('>') && pattern.test(target))

/** A letter in a group of short options. */
const flag = (letters: string) => new RegExp(`^-[a-z]*[${letters}]`, 'i')
const downloads = isAny('curl', 'wget', 'fetch', 'aria2c', 'http', 'lwp-request')
const interprets = ({ name }: Simple) =>
  isShell(name) || /^(?:python|perl|ruby|node|php)[\d.]*$/.test(name)

const ETC = /^(?:\/private)?\/etc(?:\/|$)/
/** Places of the system and of the person that decide who may do what. */
const SYSTEM_FILE =
  /^(?:\/private)?\/etc\/|^\/dev\/(?:sd|hd|vd|nvme)|(?:^|\/)\.ssh(?:\/|$)|(?:^|\/)\.(?:agent|hermes)\/(?:[^/]+\/)*\.env$/
const SECRET_FILE =
  /(?:^|\/)\.ssh\/(?!known_hosts|config$|.*\.pub$)[^/]+|(?:^|\/)\.aws\/credentials|(?:^|\/)\.(?:netrc|pgpass|git-credentials)$|(?:^|\/)\.(?:agent|hermes)\/(?:[^/]+\/)*(?:\.env|auth\.json)$|^\/etc\/(?:shadow|sudoers)|^\/proc\/[^/]+\/environ/
const ANY_WRITES =
  /^(?:[0-7]?[0-7]{2}[2367]|(?:\w*[oa]\w*)?\+[rxXst]*w[rwxXst]*|.*[oa][+=][rxXst]*w.*)$/

/** Most severe first: the first match names the question. */
export const RULES: Rule[] = [
  { label: 'fork bomb', text: FORK_BOMB },
  { label: 'format filesystem', command: ({ name }) => /^mkfs/.test(name) },
  {
    label: 'write to block device',
    command: command => writes(command, /^\/dev\/(?:sd|hd|vd|nvme|mmcblk)/),
  },
  { label: 'disk copy', command: command => command.name === 'dd' && has(command, /^if=/) },
  {
    label: 'kill all processes',
    command: ({ name, args }) => name === 'kill' && killsAll(args),
  },
  {
    label: 'delete in root path',
    command: command => command.name === 'rm' && has(command, /^\//),
  },
  {
    label: 'recursive delete',
    command: command => command.name === 'rm' && has(command, flag('r')),
  },
  {
    label: 'recursive delete (long flag)',
    command: command => command.name === 'rm' && has(command, /^--rec/),
  },
  {
    label: 'xargs with rm',
    command: ({ name, args }) => name === 'xargs' && args.some(arg => /(?:^|\/)rm$/.test(arg)),
  },
  {
    label: 'find -exec rm',
    command: command =>
      command.name === 'find' && has(command, /^-(?:exec|ok)/) && has(command, /(?:^|\/)rm$/),
  },
  {
    label: 'find -delete',
    command: command => command.name === 'find' && has(command, /^-delete$/),
  },
  {
    label: 'overwrite system file via tee',
    command: command => command.name === 'tee' && has(command, SYSTEM_FILE),
  },
  { label: 'overwrite system config', command: command => writes(command, ETC) },
  {
    label: 'overwrite system file via redirection',
    command: command => writes(command, SYSTEM_FILE),
  },
  {
    label: 'copy/move file into /etc/',
    command: ({ name, args }) =>
      /^(?:cp|mv|install|ln|rsync)$/.test(name) && ETC.test(args.at(-1) ?? ''),
  },
  {
    label: 'in-place edit of system config',
    command: command => isEditor(command) && has(command, flag('i')) && has(command, ETC),
  },
  {
    label: 'in-place edit of system config (long flag)',
    command: command => isEditor(command) && has(command, /^--in-place/) && has(command, ETC),
  },
  {
    label: 'world/other-writable permissions',
    command: command => command.name === 'chmod' && has(command, ANY_WRITES),
  },
  {
    label: 'recursive world/other-writable (long flag)',
    command: command =>
      command.name === 'chmod' && has(command, /^--rec/) && has(command, ANY_WRITES),
  },
  {
    label: 'recursive chown to root',
    command: command =>
      command.name === 'chown' && has(command, flag('R')) && has(command, /^(?:root|0)(?::|$)/),
  },
  {
    label: 'recursive chown to root (long flag)',
    command: command =>
      command.name === 'chown' && has(command, /^--rec/) && has(command, /^(?:root|0)(?::|$)/),
  },
  {
    label: 'pipe remote content to shell',
    command: command => interprets(command) && command.from.some(downloads),
  },
  {
    label: 'execute remote script via process substitution',
    text: /\b(?:(?:ba|z|k|da)?sh|source|eval)\b[^\n]{0,2000}(?:<|\$)\(\s*(?:curl|wget)\b|(?:^|[;&|\s])\.\s+<\(\s*(?:curl|wget)\b/i,
  },
  {
    label: 'decoded text piped to shell',
    text: /\b(?:eval|(?:ba|z|k|da)?sh)\b[^\n]{0,200}\bbase(?:64|32)\s+(?:-d|-D|--decode)/,
    command: command =>
      interprets(command) &&
      command.from.some(one => /^(?:base64|base32|xxd|openssl|uudecode)$/.test(one.name)),
  },
  {
    label: 'shell command via -c/-lc flag',
    command: command => isShell(command.name) && has(command, /^-[a-z]*c$/i),
  },
  {
    label: 'script execution via -e/-c flag',
    command: command =>
      /^(?:python|perl|ruby|node|php|lua|deno|bun)[\d.]*$/.test(command.name) &&
      has(command, /^(?:-[a-z]*[ecr]|--eval|--print|eval)$/i),
  },
  { label: 'SQL DROP', text: /\bdrop\s+(?:table|database|schema)\b/i },
  { label: 'SQL DELETE without WHERE', text: /\bdelete\s+from\b(?![\s\S]{0,4000}\bwhere\b)/i },
  { label: 'SQL TRUNCATE', text: /\btruncate\s+(?:table\s+\S|[a-z_][\w.]*\s*(?:;|["']|$))/im },
  {
    label: 'stop/disable system service',
    command: command =>
      (command.name === 'systemctl' && has(command, /^(?:stop|disable|mask|restart|kill)$/)) ||
      (command.name === 'service' && has(command, /^(?:stop|restart)$/)),
  },
  {
    label: 'kill hermes/gateway process (self-termination)',
    command: command =>
      isAny('pkill', 'killall', 'kill')(command) && has(command, /hermes|agent-webui|gateway/i),
  },
  {
    label: 'force kill processes',
    command: command =>
      isAny('pkill', 'killall')(command) &&
      has(command, /^-(?:9|kill|sigkill)$|^--signal=?(?:9|kill|sigkill)?$/i),
  },
  {
    label: 'start gateway outside systemd',
    text: /\bgateway\s+run\b[^\n]{0,2000}&(?!&)|\b(?:nohup|setsid)\b[^\n]{0,2000}\bgateway\s+run\b/i,
  },
  {
    label: 'destructive git command',
    command: ({ name, args }) => name === 'git' && isDestructiveGit(args),
  },
  {
    label: 'docker removal',
    command: ({ name, args }) =>
      /^(?:docker|podman)$/.test(name) &&
      /\b(?:prune|rm|rmi|down|kill|stop)\b/.test(args.slice(0, 3).join(' ')),
  },
  {
    label: 'overwrite project env file',
    command: command =>
      writes(command, /(?:^|\/)\.env(?:\.\w+)?$/) ||
      (command.name === 'tee' && has(command, /(?:^|\/)\.env$/)),
  },
  { label: 'credential file read', command: command => readsSecret(command) },
  {
    label: 'cloud metadata access',
    text: /169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254/i,
  },
]

const isEditor = isAny('sed', 'gsed', 'perl', 'ruby')

const isDestructiveGit = (args: string[]): boolean => {
  const words = args.join(' ')
  return /\breset\b.*--hard|\bclean\b.* -\w*f|\bpush\b.*(?: -\w*f\b|--force|--mirror| --delete)|\bbranch\b.* -\w*D|\bcheckout\b.* (?:-f|--force)\b|\bstash (?:drop|clear)|\bfilter-(?:branch|repo)/.test(
    words,
  )
}

/** Names after `>` are written, not read. */
const readsSecret = (command: Simple): boolean =>
  !/^(?:ls|stat|chmod|chown|ssh|ssh-keygen|ssh-add|mkdir|test|\[)$/.test(command.name) &&
  (has(command, SECRET_FILE) ||
    command.redirects.some(({ op, target }) => op === '<' && SECRET_FILE.test(target)))

/** Forms under which the same rule may stand in an older or newer allow-list. */
const ALSO_STORED_AS: Record<string, string[]> = {
  'world/other-writable permissions': ['world-writable permissions'],
  'recursive world/other-writable (long flag)': ['recursive world-writable (long flag)'],
  'stop/disable system service': ['stop/restart system service'],
  'copy/move file into /etc/': ['copy/move file into system config path'],
}

/** True when a stored allow-list covers the label, in any of its known forms. */
export const isAllowed = (label: string, allowlist: readonly string[]): boolean =>
  [label, ...(ALSO_STORED_AS[label] ?? [])].some(form => allowlist.includes(form))

/** Rules for commands that need approval, most severe first. Checked before everything else. */
import { killsAll } from './blocked-commands.ts'
import { isShell, languageOf } from './interpreters.ts'
import { CODE_FLAG, SHELL_FLAG } from './labels.ts'
import type { ShellContext, SimpleCommand } from './types.ts'

export type Rule = {
  label: string
  /** Matched against the whole text, with and without quotes resolved. */
  text?: RegExp
  command?: (command: SimpleCommand, context: ShellContext) => boolean
}

const isAny =
  (...names: string[]) =>
  (command: SimpleCommand) =>
    names.includes(command.name)
const has = (command: SimpleCommand, pattern: RegExp) => command.args.some(arg => pattern.test(arg))
const writes = ({ redirects }: SimpleCommand, pattern: RegExp) =>
  redirects.some(({ op, target }) => op.includes('>') && pattern.test(target))

/** A letter in a group of short options. */
const flag = (letters: string) => new RegExp(`^-[a-z]*[${letters}]`, 'i')
const downloads = isAny(
  'curl',
  'wget',
  'fetch',
  'aria2c',
  'http',
  'https',
  'xh',
  'lwp-request',
  'nc',
  'ncat',
  'ssh',
  'scp',
  'ftp',
  'lynx',
  'w3m',
  'gh',
  'aws',
  'gsutil',
)
const interprets = ({ name }: SimpleCommand) =>
  isShell(name) ||
  languageOf(name) !== undefined ||
  /^(?:source|\.|eval|xargs|parallel|at|batch)$/.test(name)

const ETC = /^(?:\/private)?\/etc(?:\/|$)/
/** System and user files that control permissions. */
const SYSTEM_FILE =
  /^(?:\/private)?\/etc\/|^\/dev\/(?:sd|hd|vd|nvme)|(?:^|\/)\.ssh(?:\/|$)|(?:^|\/)\.(?:agent|hermes)\/(?:[^/]+\/)*\.env$/
const ANY_WRITES =
  /^(?:[0-7]?[0-7]{2}[2367]|(?:\w*[oa]\w*)?\+[rxXst]*w[rwxXst]*|.*[oa][+=][rxXst]*w.*)$/
const isEditor = isAny('sed', 'gsed', 'perl', 'ruby', 'awk', 'gawk')
const TO_ROOT = /^(?:root|0)(?::|$)/

export const RULES: readonly Rule[] = [
  {
    label: 'format filesystem',
    command: ({ name }) => /^(?:mkfs|mke2fs|mkdosfs|mkntfs|newfs)/.test(name),
  },
  {
    label: 'write to block device',
    command: command => writes(command, /^\/dev\/(?:sd|hd|vd|nvme|mmcblk|r?disk)/),
  },
  {
    label: 'disk copy',
    command: command =>
      /^(?:dd|dcfldd|ddrescue)$/.test(command.name) && has(command, /^(?:if|of)=/),
  },
  {
    label: 'kill all processes',
    command: ({ name, args }) => name === 'kill' && killsAll(args),
  },
  {
    label: 'delete in root path',
    command: ({ name, args }, { workspace, cwd }) =>
      /^(?:rm|unlink|srm|shred|rmdir)$/.test(name) &&
      args.some(arg => arg.startsWith('/') && !arg.startsWith(`${workspace ?? cwd}/`)),
  },
  {
    label: 'recursive delete',
    command: command =>
      (/^(?:rm|srm)$/.test(command.name) && has(command, flag('r'))) ||
      command.name === 'rimraf' ||
      command.name === 'del-cli',
  },
  {
    label: 'recursive delete (long flag)',
    command: command => command.name === 'rm' && has(command, /^--r(?:ec?|$)/),
  },
  {
    label: 'xargs with rm',
    command: ({ name, args }) =>
      /^(?:xargs|gxargs|parallel)$/.test(name) &&
      args.some(arg => /(?:^|\/|\s)(?:rm|shred|unlink)(?:\s|$)/.test(arg)),
  },
  {
    label: 'find -exec rm',
    command: command =>
      /^(?:find|gfind|fd|fdfind)$/.test(command.name) &&
      has(command, /^-(?:exec|ok|x$|X$)|^--exec/) &&
      has(command, /(?:^|\/|\s)(?:rm|shred|unlink)(?:\s|$)/),
  },
  {
    label: 'find -delete',
    command: command => /^g?find$/.test(command.name) && has(command, /^-delete$/),
  },
  {
    label: 'overwrite system file via tee',
    command: command => /^(?:tee|sponge)$/.test(command.name) && has(command, SYSTEM_FILE),
  },
  { label: 'overwrite system config', command: command => writes(command, ETC) },
  {
    label: 'overwrite system file via redirection',
    command: command => writes(command, SYSTEM_FILE),
  },
  {
    label: 'copy/move file into /etc/',
    command: ({ name, args }) =>
      /^(?:cp|mv|install|ln|rsync|dd)$/.test(name) &&
      ETC.test((args.at(-1) ?? '').replace(/^of=/, '')),
  },
  {
    label: 'in-place edit of system config',
    command: command => isEditor(command) && has(command, flag('i')) && has(command, ETC),
  },
  {
    label: 'in-place edit of system config (long flag)',
    command: command => isEditor(command) && has(command, /^--in-?p?/) && has(command, ETC),
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
      command.name === 'chown' && has(command, flag('R')) && has(command, TO_ROOT),
  },
  {
    label: 'recursive chown to root (long flag)',
    command: command => command.name === 'chown' && has(command, /^--rec/) && has(command, TO_ROOT),
  },
  {
    label: 'pipe remote content to shell',
    command: command =>
      interprets(command) && command.from.some(downloads) && !takesOnlyData(command),
  },
  {
    label: 'execute remote script via process substitution',
    text: /\b(?:(?:ba|z|k|da)?sh|source|eval|python[\d.]*|perl|ruby|node|php)\b[^\n]{0,2000}(?:<|\$)\(\s*(?:curl|wget)\b|(?:^|[;&|\s])\.\s+<\(\s*(?:curl|wget)\b|\b(?:eval|(?:ba|z)?sh\s+-c)\b[^\n]{0,200}`\s*(?:curl|wget)\b/i,
  },
  {
    label: 'decoded text piped to shell',
    text: /\b(?:eval|(?:ba|z|k|da)?sh)\b[^\n]{0,200}\b(?:base(?:64|32)\s+(?:-d|-D|--d)|xxd\s+-\w*r)/,
    command: command =>
      interprets(command) &&
      !takesOnlyData(command) &&
      command.from.some(one =>
        /^(?:base64|base32|xxd|openssl|uudecode|rev|tr|gunzip|zcat|gzip|bunzip2|xzcat)$/.test(
          one.name,
        ),
      ),
  },
  {
    label: SHELL_FLAG,
    command: command => isShell(command.name) && has(command, /^-[a-z]*c$/i),
  },
  {
    label: CODE_FLAG,
    command: command => {
      const code = languageOf(command.name)?.code
      return code !== undefined && has(command, code)
    },
  },
  {
    label: 'SQL DROP',
    text: /\bdrop\s+(?:table|database|schema|user|role|view|index|keyspace|collection)\b|\bdropdb\b|dropDatabase\s*\(|\.drop\s*\(\s*\)|\b(?:flushall|flushdb)\b/i,
  },
  {
    label: 'SQL DELETE without WHERE',
    text: /\bdelete\s+from\b(?![\s\S]{0,4000}\bwhere\b)|deleteMany\s*\(\s*\{\s*\}/i,
  },
  {
    label: 'SQL UPDATE without WHERE',
    text: /\bupdate\s+["`\w.]+\s+set\s+\S+\s*=(?![\s\S]{0,4000}\bwhere\b)/i,
  },
  { label: 'SQL TRUNCATE', text: /\btruncate\s+(?:table\s+\S|(?!-)[a-z_][\w.]*\s*(?:;|["']|$))/im },
  {
    label: 'stop/disable system service',
    command: command =>
      (command.name === 'systemctl' &&
        has(
          command,
          /^(?:stop|disable|mask|restart|kill|try-restart|reload|daemon-reload|daemon-reexec|edit|set-property|revert|start|enable|link|unmask|import-environment|set-environment|isolate|set-default)$/,
        )) ||
      (command.name === 'service' && has(command, /^(?:stop|restart|start|reload)$/)) ||
      (command.name === 'launchctl' &&
        has(
          command,
          /^(?:load|unload|bootstrap|bootout|enable|disable|kickstart|kill|remove|submit|start|stop|setenv)$/,
        )) ||
      command.name === 'initctl' ||
      command.name === 'rc-service' ||
      command.name === 'rc-update' ||
      command.name === 'update-rc.d' ||
      command.name === 'chkconfig' ||
      (command.name === 'brew' &&
        has(command, /^services$/) &&
        has(command, /^(?:start|stop|restart|kill|cleanup)$/)),
  },
  {
    label: 'kill hermes/gateway process (self-termination)',
    text: /\bkill\b[^\n]{0,200}\bp(?:grep|idof)\b[^\n]{0,200}(?:hermes|agent-?webui|gateway)|\bp(?:grep|idof)\b[^\n]{0,200}(?:hermes|agent-?webui|gateway)[^\n]{0,200}\bkill\b/i,
    command: ({ name, args }) =>
      /^(?:pkill|killall|kill|skill|snice|fuser|xkill)$/.test(name) &&
      args.some(arg =>
        /hermes|agent-?webui|gateway|PPID|^(?:node|nodejs|node router|router\.ts)$/i.test(arg),
      ),
  },
  {
    label: 'force kill processes',
    command: command =>
      isAny('pkill', 'killall', 'skill')(command) &&
      has(command, /^-(?:9|kill|sigkill)$|^--signal=?(?:9|kill|sigkill)?$|^-s$/i),
  },
  {
    label: 'start gateway outside systemd',
    text: /\bgateway\s+run\b[^\n]{0,2000}&(?!&)|\b(?:nohup|setsid)\b[^\n]{0,2000}\bgateway\s+run\b/i,
  },
  {
    label: 'docker removal',
    command: ({ name, args }) =>
      /^(?:docker|podman|nerdctl|docker-compose)$/.test(name) &&
      !args
        .slice(0, 1)
        .some(arg => /^(?:run|exec|build|compose)$/.test(arg) && arg !== 'compose') &&
      /\b(?:prune|rm|rmi|down|kill|stop|remove)\b/.test(
        args
          .filter(arg => !arg.startsWith('-'))
          .slice(0, 3)
          .join(' '),
      ),
  },
  {
    label: 'overwrite project env file',
    command: command =>
      writes(command, /(?:^|\/)\.env(?:\.(?!example|sample|template)\w+)?$/) ||
      (/^(?:tee|sponge|sed|gsed|perl)$/.test(command.name) &&
        has(command, /(?:^|\/)\.env(?:\.\w+)?$/)) ||
      (/^(?:cp|mv|rm|install|ln|truncate)$/.test(command.name) &&
        /(?:^|\/)\.env$/.test(command.args.at(-1) ?? '')),
  },
  {
    label: 'cloud metadata access',
    text: /169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254|169\.254\.170\.2|100\.100\.100\.200|\b0xa9fea9fe\b|\b2852039166\b/i,
  },
]

/** `python -c '…'` after a download only reads data; its script is checked separately. */
const takesOnlyData = ({ name, args }: SimpleCommand): boolean => {
  if (/^(?:xargs|parallel|eval|source|\.)$/.test(name))
    return name === 'xargs' && !args.some(arg => isShell(arg.split('/').at(-1) ?? ''))
  const { code } = languageOf(name) ?? {}
  if (isShell(name)) return false
  return args.some(
    arg =>
      code?.test(arg) || /^-m$/.test(arg) || (!arg.startsWith('-') && !arg.startsWith('/dev/')),
  )
}

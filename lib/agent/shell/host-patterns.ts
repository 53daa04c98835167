/**
 * The host agent's dangerous commands, as patterns over the text. They are a help against accidents: a
 * command that runs outside a sandbox can do anything that its user can do. The labels are stored in `command_allowlist`.
 */
import type { TextSpan } from '../../schema/question.ts'
import { normalizeCommand } from './syntax.ts'

/** Where a program may stand: at the beginning, after an operator or an opening, or after a wrapper such as `sudo`. */
const AT = String.raw`(?:^|[;&|(\n\x60{]|\$\(|\b(?:sudo|doas|env|nohup|exec|xargs|then|do|else|time)\s(?:-\S+\s+)*)\s*`
/** The rest of one simple command. */
const REST = String.raw`[^;&|\n]{0,2000}?`

const program = (names: string, rest = ''): RegExp =>
  new RegExp(`${AT}(?:\\S*/)?(?:${names})\\b${rest}`, 'gi')

const SYSTEM_FILE = String.raw`["']?(?:/private)?/(?:etc/|dev/(?:sd|hd|vd|nvme)|\S*\.ssh/)|["']?\S*\.(?:agent|hermes)/(?:\S*/)?\.env\b|["']?~?\S*/?\.ssh/`
const DOWNLOAD = String.raw`\b(?:curl|wget|fetch|aria2c)\b[^;&\n]{0,2000}\|`
const RUNS = String.raw`(?:sudo\s+(?:-\S+\s+)*)?(?:\S*/)?(?:(?:ba|z|k|da|fi)?sh|python[\d.]*|perl|ruby|node|php|source|eval)\b`
const DECODE = String.raw`\b(?:base(?:64|32)\s+(?:-d|-D|--d)|xxd\s+-\w*r|openssl\s+(?:enc|base64)[^|]*-d|uudecode)\b[^;&\n]{0,500}\|`

/** By severity, worst first. */
const PATTERNS: readonly { label: string; text: RegExp }[] = [
  { label: 'fork bomb', text: /(\w+|:)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;\s*\1/g },
  { label: 'format filesystem', text: program('mkfs(?:\\.\\w+)?|mke2fs|mkdosfs|mkntfs|newfs') },
  { label: 'write to block device', text: />\s*["']?\/dev\/(?:sd|hd|vd|nvme|mmcblk|r?disk)\w*/gi },
  { label: 'disk copy', text: program('dd|dcfldd|ddrescue', `\\s${REST}\\b(?:if|of)=\\S+`) },
  {
    label: 'kill all processes',
    text: program('kill', '\\s+(?:-(?:9|KILL|SIGKILL|s\\s+\\w+)\\s+)?(?:--\\s+)?-1\\b'),
  },
  {
    label: 'delete in root path',
    text: program('rm|unlink|srm|shred|rmdir', `\\s${REST}(?:\\s|["'])/\\S*`),
  },
  { label: 'recursive delete', text: program('rm|srm', `\\s${REST}-[a-z]*r[a-z]*\\b`) },
  { label: 'recursive delete', text: program('rimraf|del-cli') },
  { label: 'recursive delete (long flag)', text: program('rm', `\\s${REST}--rec\\w*`) },
  {
    label: 'xargs with rm',
    text: /\b(?:xargs|parallel)\b[^;&|\n]{0,500}\b(?:rm|shred|unlink)\b/gi,
  },
  {
    label: 'find -exec rm',
    text: /\b(?:find|fd|fdfind)\b[^;&|\n]{0,2000}(?:-exec(?:dir)?|-ok|-x|-X)\s+(?:\S*\/)?(?:rm|shred|unlink)\b/gi,
  },
  { label: 'find -delete', text: /\bfind\b[^;&|\n]{0,2000}\s-delete\b/gi },
  {
    label: 'overwrite system file via tee',
    text: program('tee|sponge', `\\s${REST}(?:${SYSTEM_FILE})\\S*`),
  },
  { label: 'overwrite system config', text: />\s*["']?(?:\/private)?\/etc\/\S*/gi },
  {
    label: 'overwrite system file via redirection',
    text: new RegExp(`>\\s*(?:${SYSTEM_FILE})\\S*`, 'gi'),
  },
  {
    label: 'copy/move file into /etc/',
    text: program(
      'cp|mv|install|ln|rsync',
      `\\s${REST}\\s["']?(?:/private)?/etc(?:/\\S*)?["']?\\s*(?=$|[;&|\\n])`,
    ),
  },
  {
    label: 'in-place edit of system config',
    text: program('sed|gsed|perl|ruby', `\\s${REST}-[a-z]*i${REST}\\s["']?/etc/\\S*`),
  },
  {
    label: 'in-place edit of system config (long flag)',
    text: program('sed|gsed', `\\s${REST}--in-place${REST}\\s["']?/etc/\\S*`),
  },
  {
    label: 'world/other-writable permissions',
    text: program(
      'chmod',
      `\\s${REST}(?:\\b[0-7]?[0-7]{2}[2367]\\b|\\b[ugo]*[oa][ugoa]*[+=][rxXst]*w\\w*|\\s\\+[rxXst]*w\\w*)`,
    ),
  },
  {
    label: 'recursive world/other-writable (long flag)',
    text: program(
      'chmod',
      `\\s${REST}--rec\\w*${REST}(?:\\b[0-7]?[0-7]{2}[2367]\\b|\\b[ugo]*[oa][+=]\\w*w)`,
    ),
  },
  {
    label: 'recursive chown to root',
    text: program('chown', `\\s${REST}-[a-z]*R${REST}\\b(?:root|0)\\b`),
  },
  {
    label: 'recursive chown to root (long flag)',
    text: program('chown', `\\s${REST}--rec\\w*${REST}\\b(?:root|0)\\b`),
  },
  { label: 'pipe remote content to shell', text: new RegExp(`${DOWNLOAD}\\s*${RUNS}`, 'gi') },
  {
    label: 'execute remote script via process substitution',
    text: new RegExp(
      `${RUNS}[^\\n]{0,2000}(?:<|\\$)\\(\\s*(?:curl|wget)\\b|(?:^|[;&|\\s])\\.\\s+<\\(\\s*(?:curl|wget)\\b`,
      'gi',
    ),
  },
  {
    label: 'decoded text piped to shell',
    text: new RegExp(
      `${DECODE}\\s*${RUNS}|\\b(?:eval|(?:ba|z|k|da)?sh\\s+-\\w*c)\\b[^\\n]{0,200}${DECODE.replace(/\[\^;&\\n\].*$/, '')}`,
      'gi',
    ),
  },
  {
    label: 'shell command via -c/-lc flag',
    text: program('(?:ba|z|k|mk|da|fi)?sh', '\\s+(?:-\\S+\\s+)*-[a-z]*c\\b'),
  },
  {
    label: 'script execution via -e/-c flag',
    text: program(
      'python[\\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua|Rscript',
      '\\s+(?:-\\S+\\s+)*(?:-[a-zA-Z]*[ecpErR]\\b|--eval\\b|--print\\b|eval\\b)',
    ),
  },
  {
    label: 'SQL DROP',
    text: /\bdrop\s+(?:table|database|schema|user|role|view|index)\b|\bdropdb\b|\bdropDatabase\s*\(|\bflush(?:all|db)\b/gi,
  },
  { label: 'SQL DELETE without WHERE', text: /\bdelete\s+from\b(?![^;]{0,4000}\bwhere\b)/gi },
  {
    label: 'SQL UPDATE without WHERE',
    text: /\bupdate\s+["`\w.]+\s+set\s+\S+\s*=(?![^;]{0,4000}\bwhere\b)/gi,
  },
  { label: 'SQL TRUNCATE', text: /\btruncate\s+table\s+\S+/gi },
  {
    label: 'stop/disable system service',
    text: program('systemctl', `\\s${REST}\\b(?:stop|disable|mask|restart|kill|isolate|edit)\\b`),
  },
  {
    label: 'stop/disable system service',
    text: program('service', '\\s+\\S+\\s+(?:stop|restart)\\b'),
  },
  {
    label: 'stop/disable system service',
    text: program('launchctl', '\\s+(?:unload|bootout|disable|kill|remove|stop)\\b'),
  },
  {
    label: 'kill hermes/gateway process (self-termination)',
    text: /\b(?:p?kill|killall|skill|fuser)\b[^\n]{0,200}(?:hermes|agent-?webui|gateway|\bPPID\b|\bnode(?:js)?\b)/gi,
  },
  {
    label: 'force kill processes',
    text: program('pkill|killall|skill', '\\s+(?:-\\S+\\s+)*-(?:9|KILL|SIGKILL|s\\b)'),
  },
  {
    label: 'start gateway outside systemd',
    text: /\bgateway\s+run\b[^\n]{0,2000}&(?!&)|\b(?:nohup|setsid)\b[^\n]{0,2000}\bgateway\s+run\b/gi,
  },
  {
    label: 'docker removal',
    text: program(
      'docker|podman|nerdctl|docker-compose',
      `\\s${REST}\\b(?:prune|rm|rmi|down|kill|stop|remove)\\b`,
    ),
  },
  {
    label: 'overwrite project env file',
    text: />\s*["']?(?:\S*\/)?\.env\b(?!\.(?:example|sample|template))/gi,
  },
  {
    label: 'cloud metadata access',
    text: /169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254|169\.254\.170\.2|100\.100\.100\.200/gi,
  },
]

export type HostFinding = { label: string; span: TextSpan }

/** What the patterns find, worst first, with the place in the text. */
export const hostFindings = (command: string): HostFinding[] => {
  const find = (text: string): HostFinding[] =>
    PATTERNS.flatMap(({ label, text: pattern }) =>
      [...text.matchAll(pattern)].map(({ 0: match, index }) => {
        const lead = match.length - match.replace(/^[\s;&|({`$]+/, '').length
        return { label, span: { start: index + lead, end: index + match.trimEnd().length } }
      }),
    )
  const plain = normalizeCommand(command).replace(/\\\r?\n/g, '  ')
  const findings = find(command.replace(/\\\r?\n/g, match => ' '.repeat(match.length)))
  if (plain === command) return findings
  const labels = new Set(findings.map(({ label }) => label))
  // Shown nowhere in particular: the text that is shown has other places.
  return [
    ...findings,
    ...find(plain)
      .filter(({ label }) => !labels.has(label))
      .map(({ label }) => ({ label, span: { start: 0, end: 0 } })),
  ]
}

/** The places as marks for the card: in order, those that overlap as one. */
export const marksOf = (findings: readonly HostFinding[]): TextSpan[] => {
  const marks: TextSpan[] = []
  for (const { span } of findings.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = marks.at(-1)
    if (span.end <= span.start) continue
    if (last && span.start <= last.end)
      marks[marks.length - 1] = { start: last.start, end: Math.max(last.end, span.end) }
    else marks.push(span)
  }
  return marks
}

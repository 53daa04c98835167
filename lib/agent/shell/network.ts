/** Programs that use the network: what they fetch, send, and write. */
import { hasUnknown, UNKNOWN } from './syntax.ts'
import type { ShellContext, SimpleCommand } from './types.ts'

export const SENDS = 'send data to another machine'
const SHELL = 'network shell'

const LOCAL =
  /^(?:[a-z]+:\/\/)?(?:[^@/\s]*@)?(?:localhost|[\w-]+\.localhost|127(?:\.\d+){1,3}|0\.0\.0\.0|\[::1?\]|::1|host\.docker\.internal|[\w-]+\.local|[\w-]+\.test)(?::|\/|\?|$)|^:\d*(?:\/|$)|^\d{2,5}(?:\/|$)/i

const CURL_VALUES =
  /^(?:-[a-zA-Z]*[AbcCdDeEFhHKmoPQrtTuUwxXyYz]|--(?:user-agent|cookie|cookie-jar|continue-at|data|data-\w+|dump-header|referer|cert|form|form-string|header|config|max-time|output|ftp-port|quote|range|telnet-option|upload-file|user|proxy-user|write-out|proxy|request|speed-limit|speed-time|time-cond|connect-timeout|retry|retry-delay|retry-max-time|resolve|connect-to|cacert|capath|key|cert-type|url|json|limit-rate|interface|output-dir|max-redirs|unix-socket|url-query|abstract-unix-socket|netrc-file|oauth2-bearer|aws-sigv4|noproxy|doh-url|dns-servers|stderr|trace|trace-ascii|etag-save|etag-compare|hsts|alt-svc|libcurl|keepalive-time|local-port|parallel-max|create-file-mode|ciphers|tls\w*|proto|proto-default|proto-redir))$/

export type Call = { urls: string[]; labels: string[]; writes: string[]; reads: string[] }

const pairs = (
  args: readonly string[],
  takesValue: RegExp,
): { option: string; value: string }[] => {
  const found: { option: string; value: string }[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    const joined = /^(--[\w-]+)=([\s\S]*)$/.exec(word)
    if (joined) found.push({ option: joined[1] ?? '', value: joined[2] ?? '' })
    else if (takesValue.test(word)) found.push({ option: word, value: args[++at] ?? '' })
    else if (/^-[AbcCdDeEFHKmoQrtTuUwxXz]./.test(word) && !word.startsWith('--'))
      found.push({ option: word.slice(0, 2), value: word.slice(2) })
    else
      found.push({
        option: word.startsWith('-') && word !== '-' ? word : '',
        value: word.startsWith('-') && word !== '-' ? '' : word,
      })
  }
  return found
}

const is = (option: string, letter: string, name: RegExp): boolean =>
  (/^-[a-zA-Z]+$/.test(option) && option.endsWith(letter)) ||
  (option.startsWith('--') && name.test(option.slice(2)))

export const readCurl = ({ args }: SimpleCommand): Call => {
  const all = pairs(args, CURL_VALUES)
  const urls = all
    .filter(({ option, value }) => (option === '' && value !== '') || option === '--url')
    .map(({ value }) => value)
  const labels: string[] = []
  const writes: string[] = []
  const reads: string[] = []
  const isAllLocal = urls.length > 0 && urls.every(url => LOCAL.test(url))
  let dir = ''
  for (const { option, value } of all) {
    if (option === '') continue
    if (is(option, 'K', /^config$/)) labels.push('program starts another command')
    else if (
      is(
        option,
        'o',
        /^output$|^stderr$|^trace(?:-ascii)?$|^etag-save$|^hsts$|^alt-svc$|^libcurl$/,
      ) ||
      is(option, 'c', /^cookie-jar$/) ||
      is(option, 'D', /^dump-header$/)
    )
      writes.push(value)
    else if (option === '--output-dir') dir = value
    else if (
      is(option, 'd', /^data/) ||
      is(option, 'F', /^form/) ||
      is(option, 'T', /^upload-file$/) ||
      option === '--json' ||
      option === '--url-query'
    ) {
      const file =
        /(?:^|=)[@<]([^;]+)/.exec(value)?.[1] ??
        (is(option, 'T', /^upload-file$/) ? value : undefined)
      if (file !== undefined && file !== '-') reads.push(file)
      if (!isAllLocal) labels.push(SENDS)
    } else if (is(option, 'X', /^request$/)) {
      if (!isAllLocal && !/^(?:GET|HEAD|OPTIONS)$/i.test(value)) labels.push(SENDS)
    } else if (is(option, 'Q', /^quote$/) || is(option, 't', /^telnet-option$/)) labels.push(SENDS)
    else if (
      is(option, 'E', /^cert$/) ||
      option === '--key' ||
      option === '--netrc-file' ||
      option === '--unix-socket'
    )
      reads.push(value)
    else if (/^--(?:engine|proto-default)$/.test(option))
      labels.push('program starts another command')
  }
  if (all.some(({ option }) => is(option, 'O', /^remote-name(?:-all)?$/)))
    writes.push(...urls.flatMap(nameIn))
  if (dir !== '') writes.push(...(writes.length > 0 ? writes.map(name => `${dir}/${name}`) : [dir]))
  if (
    urls.some(
      url =>
        /^(?:telnet|gopher|dict|ldap|smb|smtp|imap|pop3|tftp|mqtt|rtsp|scp|sftp)s?:/i.test(url) &&
        !isAllLocal,
    )
  )
    labels.push(SENDS)
  for (const url of urls)
    if (/^file:/i.test(url)) reads.push(url.replace(/^file:(?:\/\/[^/]*)?/i, ''))
  return { urls, labels, writes, reads }
}

const WGET_VALUES =
  /^(?:-[a-zA-Z]*[aoOPUtTwQBieDIXAR]|--(?:output-document|directory-prefix|output-file|append-output|input-file|user-agent|header|post-data|post-file|method|body-data|body-file|timeout|tries|wait|quota|base|execute|domains|include-directories|exclude-directories|accept|reject|user|password|referer|load-cookies|save-cookies|warc-file|config|limit-rate|level|http-user|http-password|ca-certificate|certificate|private-key))$/

export const readWget = ({ args }: SimpleCommand): Call => {
  const all = pairs(args, WGET_VALUES)
  const urls = all
    .filter(({ option, value }) => option === '' && value !== '')
    .map(({ value }) => value)
  const labels: string[] = []
  const writes: string[] = []
  const reads: string[] = []
  const isAllLocal = urls.length > 0 && urls.every(url => LOCAL.test(url))
  for (const { option, value } of all) {
    if (
      is(option, 'O', /^output-document$/) ||
      is(option, 'P', /^directory-prefix$/) ||
      is(option, 'o', /^output-file$/) ||
      is(option, 'a', /^append-output$/) ||
      /^--(?:save-cookies|warc-file)$/.test(option)
    )
      writes.push(value)
    else if (/^--(?:post-data|method|body-data)$/.test(option) && !isAllLocal) labels.push(SENDS)
    else if (/^--(?:post-file|body-file)$/.test(option)) {
      reads.push(value)
      labels.push(SENDS)
    }
  }
  if (!all.some(({ option }) => is(option, 'O', /^output-document$/)))
    writes.push(...urls.flatMap(nameIn))
  return { urls, labels, writes, reads }
}

/** `http`, `https`, `xh`: find a method or data items among the arguments. */
export const readHttpie = ({ args, from }: SimpleCommand): Call => {
  const words = args.filter(arg => !arg.startsWith('-'))
  const method = /^(?:GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE)$/i.test(words[0] ?? '')
    ? words.shift()
    : undefined
  const url = words.shift() ?? ''
  const sends =
    (method !== undefined && !/^(?:GET|HEAD|OPTIONS)$/i.test(method)) ||
    words.some(word => /[^=]=|:=|@/.test(word) && !/==/.test(word)) ||
    from.length > 0
  const writes = args.flatMap((arg, at) =>
    /^(?:-o|--output|--download-dir)$/.test(arg) ? [args[at + 1] ?? ''] : [],
  )
  return {
    urls: [url],
    labels: sends && !LOCAL.test(url) ? [SENDS] : [],
    writes,
    reads: words.flatMap(word => /@(.+)$/.exec(word)?.[1] ?? []),
  }
}

/** DNS lookups and pings: the owner of the domain sees the name. */
const ASKS_NAMES =
  /^(?:dig|nslookup|host|drill|kdig|delv|dog|doggo|resolvectl|systemd-resolve|getent|ping6?|fping|hping3|traceroute6?|tracepath6?|tcptraceroute|mtr|whois|arping)$/

const SECRET_VARIABLE = /KEY|TOKEN|SECRET|PASS|CRED|AUTH/i

/** Whether the word contains the value of a secret variable. */
const holdsSecret = (word: string, { env }: ShellContext): boolean =>
  Object.entries(env ?? {}).some(
    ([name, value]) => SECRET_VARIABLE.test(name) && value.length >= 8 && word.includes(value),
  )

/** Whether computed text, or a file of names, leaves the machine in a host name (DNS exfiltration). */
export const sendsInName = (
  { name, args, input, from }: SimpleCommand,
  context: ShellContext,
): boolean => {
  if (!ASKS_NAMES.test(name) || (name === 'getent' && !/hosts/.test(args[0] ?? ''))) return false
  // `$(whoami)` is known before it runs; a first label equal to the user name is suspicious.
  const user = context.home.split('/').at(-1) || 'root'
  return (
    args.some(
      arg =>
        hasUnknown(arg) ||
        holdsSecret(arg, context) ||
        (arg.startsWith(`${user}.`) && !LOCAL.test(arg)),
    ) ||
    (name === 'dig' && args.some(arg => /^-f/.test(arg))) ||
    (/^(?:nslookup|fping)$/.test(name) && (from.length > 0 || input !== undefined))
  )
}

/** Whether computed text leaves the machine in a URL. */
export const sendsInAddress = (
  urls: readonly string[],
  context: ShellContext,
  hasQuoted: boolean,
): boolean =>
  urls.some(url => {
    const host = /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? ''
    const user = context.home.split('/').at(-1) || 'root'
    return (
      !LOCAL.test(url) &&
      ((url.includes(UNKNOWN) && !url.startsWith(UNKNOWN)) ||
        (hasQuoted && hasUnknown(url)) ||
        hasUnknown(host) ||
        host.startsWith(`${user}.`) ||
        holdsSecret(url, context))
    )
  })

/** The default file name of a download. */
const nameIn = (url: string): string[] => {
  const name =
    url
      .replace(/[?#].*/s, '')
      .replace(/^[a-z]+:\/\/[^/]*/i, '')
      .split('/')
      .at(-1) ?? ''
  return name === '' || hasUnknown(name) ? [] : [name]
}

/** Reasons for programs that open connections; null for other programs. */
export const networkLabels = (simple: SimpleCommand): string[] | null => {
  const { name, args } = simple
  const words = args.filter(arg => !arg.startsWith('-'))
  switch (name) {
    case 'nc':
    case 'ncat':
    case 'netcat':
    case 'socat':
    case 'telnet': {
      const runs = args.some(
        arg =>
          /^(?:-\w*[ec]|--(?:exec|sh-exec|lua-exec))/.test(arg) || /^(?:exec|system):/i.test(arg),
      )
      if (runs) return [SHELL]
      // Anyone who connects gets it.
      if (
        args.some(arg => /^-\w*l/.test(arg)) &&
        (simple.input !== undefined || simple.from.length > 0)
      )
        return [SENDS]
      // A port check.
      if (args.some(arg => /^-\w*z/.test(arg))) return []
      return words.length > 0 && LOCAL.test(words[0] ?? '') && name !== 'socat' ? [] : [SHELL]
    }
    case 'ssh':
    case 'autossh':
    case 'mosh': {
      if (
        args.some(
          arg =>
            /^-[oF]|ProxyCommand|LocalCommand|KnownHostsCommand/i.test(arg) &&
            !/^-o(?:BatchMode|ConnectTimeout|StrictHostKeyChecking)/i.test(arg) &&
            arg !== '-o',
        ) ||
        args.some((arg, at) => args[at - 1] === '-o' && /Command|PermitLocal/i.test(arg))
      )
        return ['program starts another command']
      if (
        args.some(arg => /^-\w*T/.test(arg)) &&
        words.length === 1 &&
        /^git@/.test(words[0] ?? '')
      )
        return []
      if (args.length === 1 && /^-[VQ]/.test(args[0] ?? '')) return []
      return ['command on another machine']
    }
    case 'scp':
    case 'sftp':
    case 'rcp':
    case 'ftp':
    case 'lftp':
    case 'tftp':
    case 'rclone':
    case 'croc':
    case 'magic-wormhole':
    case 'wormhole':
      return [SENDS]
    case 'openssl': {
      if (args[0] !== 's_client') return null
      const at = args.findIndex(arg => /^-{1,2}(?:connect|host)$/.test(arg))
      if (at >= 0 && LOCAL.test(args[at + 1] ?? '')) return null
      const { input, from } = simple
      const isEmpty = simple.redirects.some(
        ({ op, target }) => op === '<' && target === '/dev/null',
      )
      const isSilent = isEmpty || (input === undefined ? from.length === 0 : input?.trim() === '')
      return isSilent && !args.some(hasUnknown) ? null : [SENDS]
    }
    case 'ngrok':
    case 'cloudflared':
    case 'localtunnel':
    case 'lt':
    case 'bore':
    case 'serveo':
    case 'tailscale':
      return [SHELL]
    case 'mail':
    case 'mailx':
    case 'sendmail':
    case 'mutt':
    case 'swaks':
      return [SENDS]
  }
  return null
}

/** Whether the text contains an address of this service. */
export const reachesUs = (text: string, ports: readonly string[]): boolean =>
  ports.some(port => new RegExp(`(?<![\\d.])${port}(?![\\d.]\\d|\\d)`).test(text))

const LOCAL_TEXT = /localhost|127\.\d|0\.0\.0\.0|\[::|::1|\b0x7f|2130706433|ip6-loopback|\b0:\d/i

/** Whether the text contains a local address with an unknown port. */
export const reachesUnknownPort = (text: string): boolean =>
  /(?:localhost|127(?:\.\d+){1,3}|0\.0\.0\.0|\[::1?\]|::1):[^\s/"']*[\0\u0001]/i.test(text) ||
  (LOCAL_TEXT.test(text) && /\$\{?(?:AGENT|HERMES)_\w*/.test(text))

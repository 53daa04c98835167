/**
 * Secrets recognized by format: tokens by their vendor's prefix, values by the name before them, private key blocks,
 * and passwords in URLs.
 *
 * The automaton finds the prefix or name; the functions here match what follows at that index.
 */

const LONGEST_BLOCK = 16_384
const BLOCK_HEAD = /-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const BLOCK_END = /-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
/** One step over the lines of a key. An unbounded pattern would exhaust the stack of the regular expression engine. */
const BLOCK_LINE =
  /(?:\s|\\{1,64}[nr]){0,1000}[A-Za-z0-9+/=]{16,4096}|(?<=[A-Za-z0-9+/=])[A-Za-z0-9+/=]+/y

/** End of the lines of base64 that begin at `from`. */
const linesEnd = (text: string, from: number): number => {
  let end = from
  BLOCK_LINE.lastIndex = from
  while (BLOCK_LINE.test(text)) end = BLOCK_LINE.lastIndex
  return end
}

/** End of the block that begins with this head; undefined when it isn't found. */
const blockEnd = (text: string, head: number): number | undefined => {
  const next = text.indexOf('-----BEGIN', head)
  const most = Math.min(text.length, head + LONGEST_BLOCK, next === -1 ? Infinity : next)
  const match = BLOCK_END.exec(text.slice(head, most))
  // Shell metacharacters are not part of a key.
  if (!match || /[;&$()<>`]/.test(text.slice(head, head + match.index))) return undefined
  return head + match.index + match[0].length
}

const PRIVATE_KEY: Shape = {
  words: ['-----BEGIN'],
  waits: true,
  match(text, at, _after, final) {
    BLOCK_HEAD.lastIndex = at
    if (!BLOCK_HEAD.test(text)) {
      const isHeadYet = /^-----BEGIN[A-Z ]{0,60}-{0,4}$/.test(text.slice(at, at + 90))
      return !final && isHeadYet && text.length - at < 90 ? { pending: at } : null
    }
    const head = BLOCK_HEAD.lastIndex
    const end = blockEnd(text, head)
    if (end === undefined && !final && text.length - head < LONGEST_BLOCK) return { pending: at }
    return { from: at, to: end ?? linesEnd(text, head), as: '[REDACTED PRIVATE KEY]' }
  },
  maybe: /[A-Z ]{0,40}PRIVATE KEY/y,
}

/** `pending`: the text ends inside the match, so it may still grow. */
export type Match = { from: number; to: number; as?: string } | { pending: number } | null

export type Shape = {
  /** Prefixes, or names before the value. */
  words: readonly string[]
  /** Whether a stream holds back a partial word, because the word is part of the secret. */
  waits: boolean
  /** `at` is the index of the word, `after` the index after it. `final`: the text is complete. */
  match: (text: string, at: number, after: number, final: boolean) => Match
  /** Quick test at the index after the word, also for JSON text. */
  maybe: RegExp
}

const isTokenCode = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 65 && code <= 90) ||
  (code >= 97 && code <= 122) ||
  code === 95 ||
  code === 45

/** Whether a token may begin here: not inside a word, except after an escaped line break or a color sequence. */
export const begins = (text: string, at: number): boolean => {
  const before = text.charCodeAt(at - 1)
  if (at === 0 || !isTokenCode(before)) return true
  const letter = text[at - 1] as string
  if ('nrtbf'.includes(letter) && text[at - 2] === '\\') return true
  return /(?:\x1b|\\u001[bB])\[[0-9;?]*[A-Za-z]$/.test(text.slice(Math.max(0, at - 24), at))
}

/** No vendor's tokens are longer. */
const LONGEST_TOKEN = 4_096

const runEnd = (text: string, from: number, isPart: (code: number) => boolean): number => {
  let end = from
  const most = Math.min(text.length, from + LONGEST_TOKEN)
  while (end < most && isPart(text.charCodeAt(end))) end++
  return end
}

/** `rest` matches what follows the prefix; `marks` are its characters besides letters, digits, `_`, and `-`. */
const token = (words: readonly string[], rest: string, marks = ''): Shape => {
  const whole = new RegExp(`(?:${rest})(?![A-Za-z0-9_-])`, 'y')
  const codes = [...marks].map(mark => mark.charCodeAt(0))
  const isPart = (code: number): boolean => isTokenCode(code) || codes.includes(code)
  return {
    words,
    waits: true,
    match(text, at, after, final) {
      if (!begins(text, at)) return null
      const end = runEnd(text, after, isPart)
      if (!final && end === text.length && end - after < LONGEST_TOKEN) return { pending: at }
      whole.lastIndex = after
      return whole.test(text) ? { from: at, to: whole.lastIndex } : null
    },
    maybe: new RegExp(rest, 'y'),
  }
}

const W = '[A-Za-z0-9_-]'
const A = '[A-Za-z0-9]'
const H = '[a-fA-F0-9]'

const TOKENS: readonly Shape[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek and others; GitHub; Slack; Hugging Face.
  token(
    [
      'sk-',
      ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
      ...['xoxb-', 'xoxa-', 'xoxp-', 'xoxr-', 'xoxs-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxe.', 'xapp-'],
      'hf_',
    ],
    `${W}{10,4000}`,
  ),
  // Tokens of our own API
  token(['awt_'], `${W}{43}`),
  // Links to shared chats
  token(['awl_'], `${W}{43}`),
  // Answers offered in notifications
  token(['awn_'], `${W}{43}`),
  token(['SG.'], `${W}{10,4000}(?:\\.${W}{1,200})?`, '.'),
  // Amazon
  token(['AKIA', 'ASIA', 'ABIA', 'ACCA'], '[A-Z0-9]{16}'),
  token(['ABSK'], '[A-Za-z0-9+/]{100,4000}={0,2}', '+/='),
  // Google
  token(['AIza'], `${W}{35}`),
  token(['ya29.'], `[A-Za-z0-9_.-]{20,4000}`, '.'),
  token(['1//0'], `${W}{30,4000}`),
  token(['GOCSPX-'], `${W}{20,4000}`),
  token(['AQ.'], `${W}{30,4000}`),
  // Other model providers, and search and browsing services
  token(['gsk_', 'xai-', 'fw_', 'rpa_', 'pplx-', 'csk-', 'r8_'], `${A}{20,4000}`),
  token(
    ['nvapi-', 'tgp_v1_', 'jina_', 'pcsk_', 'tvly-', 'bb_live_', 'lsv2_pt_', 'lsv2_sk_'],
    `${W}{16,4000}`,
  ),
  token(['sk_'], `${H}{40,4000}`),
  token(['fc-', 'key-'], `${H}{32}`),
  token(['BSA'], `(?=${W}*\\d)${W}{24,28}`),
  token(['pa-'], `${W}{40,4000}`),
  // GitLab, and other code and package hosts
  token(
    ['glpat-', 'gldt-', 'glrt-', 'glsoat-', 'glcbt-', 'glptt-', 'glft-', 'glimt-', 'glagent-'],
    `${W}{20,4000}`,
  ),
  token(['npm_'], `${A}{36}`),
  token(['pypi-'], `${W}{40,4000}`),
  token(['rubygems_'], `${H}{48}`),
  token(['oy2'], '[a-z0-9]{43}'),
  token(['dckr_pat_', 'dckr_oat_'], `${W}{20,4000}`),
  token(['ATATT3', 'ATCTT3'], '[A-Za-z0-9_=-]{50,4000}', '='),
  token(['ATBB'], `${A}{28,4000}`),
  token(['sgp_', 'sbp_', 'pul-'], `${H}{40}`),
  // Fly; signed URLs of Azure Storage
  token(['fm2_', 'fm1r_', 'fm1a_'], '[A-Za-z0-9+/_-]{40,4000}={0,2}', '+/='),
  token(['sig='], '(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])', '%+/='),
  // Payments
  token(['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'shippo_live_'], `${A}{10,4000}`),
  token(['whsec_'], '[A-Za-z0-9+/]{16,4000}={0,2}', '+/='),
  token(['shpat_', 'shpca_', 'shppa_', 'shpss_'], `${H}{32}`),
  token(['sq0atp-', 'sq0csp-'], `${W}{22,4000}`),
  // Hosting, storage, monitoring
  token(['dop_v1_', 'doo_v1_', 'dor_v1_'], `${H}{32,4000}`),
  token(['dapi'], `${H}{32}(?:-\\d)?`),
  token(['hvs.', 'hvb.', 'hvr.', 'dp.pt.', 'dp.st.', 'dp.sa.'], `${W}{20,4000}`),
  token(['tskey-'], `${W}{10,4000}`),
  token(
    ['glsa_', 'figd_', 'sntryu_', 'sb_secret_', 'vercel_blob_rw_', 'pscale_tkn_', 'pscale_pw_'],
    `${W}{20,4000}`,
  ),
  token(['sntrys_', 'glc_'], '[A-Za-z0-9+/=_-]{32,4000}', '+/='),
  token(['NRAK-', 'NRJS-'], `${A}{19,4000}`),
  token(['phx_'], `${A}{40,4000}`),
  token(['sl.'], `${W}{100,4000}`),
  token(['AGE-SECRET-KEY-1'], '[A-Z0-9]{50,4000}'),
  token(['ops_eyJ'], `${W}{100,4000}`),
  // Notes, messaging, mail
  token(['lin_api_', 'ntn_'], `${A}{30,4000}`),
  token(['secret_'], `${A}{43}`),
  token(['PMAK-'], `${H}{24}-${H}{34}`),
  token(['xkeysib-'], `${H}{64}(?:-${A}+)?`),
  token(['SK'], `${H}{32}`),
  token(['EAA'], `${A}{100,4000}`),
  token(['eyJ'], `${W}{10,4000}\\.${W}{10,4000}(?:\\.${W}{0,4000})?`, '.'),
  // Discord: starts with the bot id (digits) in base64
  token(
    ['MT', 'Mj', 'Mz', 'ND', 'NT', 'Nj', 'Nz', 'OD', 'OT'],
    `${W}{22,26}\\.${W}{6}\\.${W}{27,40}`,
    '.',
  ),
]

/** Webhook URLs, whose path is the secret. */
const hook = (word: string, rest: string): Shape => {
  const whole = new RegExp(rest, 'y')
  return {
    words: [word],
    waits: false,
    match(text, _at, after, final) {
      const end = runEnd(text, after, code => isTokenCode(code) || code === 47)
      if (!final && end === text.length && end - after < LONGEST_TOKEN) return { pending: after }
      whole.lastIndex = after
      return whole.test(text) ? { from: after, to: whole.lastIndex } : null
    },
    maybe: new RegExp(rest, 'y'),
  }
}

const HOOKS: readonly Shape[] = [
  hook('hooks.slack.com/services/', '[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]{10,4000}'),
  hook('discord.com/api/webhooks/', `\\d+/${W}{20,4000}`),
  hook('discordapp.com/api/webhooks/', `\\d+/${W}{20,4000}`),
]

/** Telegram: the bot's number, then a token that begins with AA. */
const TELEGRAM: Shape = {
  words: [':AA'],
  waits: false,
  match(text, at, after, final) {
    const number = /(?:^|[^0-9A-Za-z_])(?:bot)?(\d{8,10})$/.exec(
      text.slice(Math.max(0, at - 16), at),
    )
    if (!number) return null
    const end = runEnd(text, after, isTokenCode)
    const from = at + 1
    if (!final && end === text.length && end - at < 64) return { pending: from }
    return end - from === 35 ? { from, to: end } : null
  },
  maybe: new RegExp(`${W}{33}`, 'y'),
}

/** The user part of a URL. Examples and variables don't match. */
const USER_PART = /[^\s/?#@:"'`<>\\]{0,128}:/y
const PASSWORD_PART = /[^\s/?#@"'`<>\\;|&$(){}]{1,512}/y
const LOGIN: Shape = {
  words: ['://'],
  waits: false,
  match(text, _at, after, final) {
    USER_PART.lastIndex = after
    if (!USER_PART.test(text)) return null
    const from = USER_PART.lastIndex
    PASSWORD_PART.lastIndex = from
    if (!PASSWORD_PART.test(text)) return null
    const to = PASSWORD_PART.lastIndex
    if (!final && to === text.length && to - from < 512) return { pending: from }
    return text[to] === '@' ? { from, to } : null
  },
  maybe: /[^\s/?#@:"'`<>\\]{0,128}:[^\s/?#@"'`<>\\]{1,512}@/y,
}

/** Text that is already masked, or a placeholder. */
const MASKED = /^(?:\*+|.{6}\.\.\..{4}|\[REDACTED.*|•+|x{3,}|\.{3,}|…)$/is

/** Excludes shell metacharacters, so a mask never hides something that runs. */
const VALUE = /[^\s"'`\\;|&$()<>]{1,4096}/y
const BARE_VALUE = /[^\s"'`\\;|&$()<>,{}[\]]{1,4096}/y
const HEAD = /[\w-]{0,64}\\{0,8}["'`]?[ \t]{0,40}(:=|=>|[:=])(?![=:~])[ \t]{0,40}(\\{0,8}["'`])?/y

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{3}/u

/** A sentence in a script that has no spaces between words, and nothing in it that is long enough for a secret. */
const isUnspacedSentence = (value: string): boolean =>
  UNSPACED.test(value) && !/[\w+/=-]{6}/.test(value)

/** Looks random: not a word, a sentence, a version, a date, or a path. */
const isRandom = (value: string, quoted: boolean): boolean =>
  value.length >= (quoted ? 8 : 12) &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value) &&
  new Set(value).size >= 6 &&
  !isUnspacedSentence(value) &&
  !/^[A-Za-z_$][\w$]*\.[A-Za-z_$]/.test(value) &&
  !/^[~.]{0,2}\/|:\/\/|\/.*\//.test(value) &&
  !/^[\d.:T+Z-]+[a-z]{0,3}$/i.test(value) &&
  !/^(?:[A-Za-z]+[-_.:])*[A-Za-z]+[-_.:]?v?\d{1,4}$/.test(value) &&
  !/^[A-Z]+(?:_[A-Z0-9]+)*$/.test(value)

const OTHER = /_(?:UR[LI]|NAME|TYPE|METHOD|FILE|PATH|DIR|HOST|PORT|EXCEPTION|ENDPOINT|HEADER)\b/

const hasContent = /[A-Za-z0-9]/

/**
 * `NAME=value` with an uppercase name masks any value, as the host agent does. Everything else
 * (`api_key: …`, `"password": "…"`, `--token …`) masks only a value that looks random.
 */
const matchNamed = (text: string, after: number, final: boolean, isUpper: boolean): Match => {
  HEAD.lastIndex = after
  const head = HEAD.exec(text)
  if (!head) return null
  const from = HEAD.lastIndex
  const [whole, sign, quote] = head
  const isAssigned = isUpper && sign === '=' && !/[a-z-]/.test(whole.split(/[="'`\\ \t]/)[0] ?? '')
  const pattern = quote || isAssigned ? VALUE : BARE_VALUE
  pattern.lastIndex = from
  if (!pattern.test(text)) return null
  const to = pattern.lastIndex
  if (!final && to === text.length && to - from < 4_096) return { pending: from }
  const value = text.slice(from, to)
  if (MASKED.test(value) || !hasContent.test(value)) return null
  const range = { from, to }
  if (isAssigned) {
    // MAX_TOKENS=4096, TOKEN_URL=…: related settings, not secrets.
    const isOther = /^S\b/.test(whole) ? /^\d+\W?$/.test(value) : OTHER.test(whole)
    if (isOther && !isRandom(value, true)) return null
    // A function call, not a value: `TOKEN=read(`.
    if (quote === undefined && text[to] === '(') return null
    if (quote !== undefined || !/[ \t]/.test(whole)) return range
  }
  return isRandom(value, quote !== undefined) ? range : null
}

const UPPER = ['API_KEY', 'APIKEY', 'TOKEN', 'SECRET', 'PASSWORD', 'PASSWD', 'CREDENTIAL', 'AUTH']
const LOWER = [
  ...['api_key', 'apikey', 'api-key', 'apiKey', 'Api-Key', 'ApiKey', 'API-Key'],
  ...['token', 'Token', 'secret', 'Secret', 'password', 'Password', 'passwd', 'passphrase'],
  ...['_PASS', '_pass', 'AccountKey'],
  ...['access_key', 'access-key', 'accessKey', 'AccessKey', 'ACCESS_KEY'],
  ...['private_key', 'privateKey', 'PRIVATE_KEY', 'credential', 'Credential'],
]

const NAMED: Shape = {
  words: [...UPPER, ...LOWER],
  waits: false,
  match(text, at, after, final) {
    const word = text.slice(at, after)
    // AUTHOR=…
    if (word === 'AUTH' && text.startsWith('OR', after) && text[after + 2] !== 'I') return null
    return matchNamed(text, after, final, UPPER.includes(word))
  },
  maybe: /[\w-]{0,64}\\{0,64}["'`]?(?:[ \t]|\\{1,64}t){0,64}[:=]/y,
}

/** `Authorization: <scheme> <value>` in a header, in JSON, or in a command. */
const SCHEME =
  /\\{0,8}["']?[ \t]{0,40}[:=][ \t]{0,40}\\{0,8}["']?(?:bearer|basic|token|bot)[ \t]{1,40}/iy
const AUTHORIZATION: Shape = {
  words: ['authorization', 'Authorization', 'AUTHORIZATION'],
  waits: false,
  match(text, _at, after, final) {
    SCHEME.lastIndex = after
    if (!SCHEME.test(text)) return null
    const from = SCHEME.lastIndex
    VALUE.lastIndex = from
    const to = VALUE.test(text) ? VALUE.lastIndex : from
    if (!final && to === text.length && to > from && to - from < 4_096) return { pending: from }
    const value = text.slice(from, to).replace(/[,;]+$/, '')
    return value === '' || MASKED.test(value) ? null : { from, to: from + value.length }
  },
  maybe: /\\{0,64}["']?(?:[ \t]|\\{1,64}t){0,64}[:=]/y,
}

/** `Bearer <value>` without the header name; the value must look random. */
const SPACES = /[ \t]{1,40}/y
const BEARER: Shape = {
  words: ['Bearer', 'bearer'],
  waits: false,
  match(text, _at, after, final) {
    SPACES.lastIndex = after
    if (!SPACES.test(text)) return null
    const from = SPACES.lastIndex
    VALUE.lastIndex = from
    if (!VALUE.test(text)) return null
    const to = VALUE.lastIndex
    if (!final && to === text.length && to - from < 4_096) return { pending: from }
    const value = text.slice(from, to).replace(/[,;.]+$/, '')
    if (MASKED.test(value) || value.length < 20 || !isRandom(value, true)) return null
    return { from, to: from + value.length }
  },
  maybe: /[ \t]{1,40}[^\s"'\\]{20}|\\+t/y,
}

/** `--api-key x`, also as two strings of a list. */
const FLAG_VALUE = /(?:[ \t]{1,40}|\\{0,8}["'],[ \t]{0,40})\\{0,8}["']?/y
const FLAG: Shape = {
  words: ['-key', '-token', '-secret', '-password'],
  waits: false,
  match(text, at, after, final) {
    FLAG_VALUE.lastIndex = after
    if (!FLAG_VALUE.test(text)) return null
    const from = FLAG_VALUE.lastIndex
    if (!/(?:^|[\s"'`])--?[\w-]*$/.test(text.slice(Math.max(0, at - 40), at + 1))) return null
    VALUE.lastIndex = from
    if (!VALUE.test(text)) return null
    const to = VALUE.lastIndex
    if (!final && to === text.length && to - from < 4_096) return { pending: from }
    const value = text.slice(from, to)
    return MASKED.test(value) || !isRandom(value, true) ? null : { from, to }
  },
  maybe: /[ \t]|\\+["'t]/y,
}

export const SHAPES: readonly Shape[] = [
  ...TOKENS,
  ...HOOKS,
  TELEGRAM,
  PRIVATE_KEY,
  LOGIN,
  NAMED,
  AUTHORIZATION,
  BEARER,
  FLAG,
]

export const isMasked = (text: string): boolean => MASKED.test(text)

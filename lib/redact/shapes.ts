/**
 * Credentials that are recognized by how they look: tokens by the beginnings their makers gave them, values by the names
 * they stand behind, key blocks, passwords in addresses.
 *
 * A beginning is found by the automaton; what follows it is judged here, at that one place of the text.
 */

/** `pending`: the text ends inside it, so more may still belong to it. */
export type Found = { from: number; to: number; as?: string } | { pending: number } | null

export type Shape = {
  /** How it begins, or the name it stands behind. */
  words: readonly string[]
  /** Whether a stream has to wait where the text ends inside one of the words: it is a part of what is hidden. */
  waits: boolean
  /** `at` is the first character of the word, `behind` the one after its last. `final`: nothing follows the text. */
  judge: (text: string, at: number, behind: number, final: boolean) => Found
  /** Says quickly, of JSON text too, that this may be one; decided on what stands from `behind` on. */
  maybe: RegExp
}

const isTokenCode = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 65 && code <= 90) ||
  (code >= 97 && code <= 122) ||
  code === 95 ||
  code === 45

/** Whether a token may begin here: not inside a word, but behind an escaped line break or a color sequence. */
export const begins = (text: string, at: number): boolean => {
  const before = text.charCodeAt(at - 1)
  if (at === 0 || !isTokenCode(before)) return true
  const letter = text[at - 1] as string
  if ('nrtbf'.includes(letter) && text[at - 2] === '\\') return true
  return /(?:\x1b|\\u001[bB])\[[0-9;?]*[A-Za-z]$/.test(text.slice(Math.max(0, at - 24), at))
}

/** Longer runs are no token of anybody's. */
const LONGEST_TOKEN = 4_096

const runEnd = (text: string, from: number, isPart: (code: number) => boolean): number => {
  let end = from
  const most = Math.min(text.length, from + LONGEST_TOKEN)
  while (end < most && isPart(text.charCodeAt(end))) end++
  return end
}

/** `rest` is what follows the beginning; `marks` are characters in it besides letters, digits, `_` and `-`. */
const token = (words: readonly string[], rest: string, marks = ''): Shape => {
  const whole = new RegExp(`(?:${rest})(?![A-Za-z0-9_-])`, 'y')
  const codes = [...marks].map(mark => mark.charCodeAt(0))
  const isPart = (code: number): boolean => isTokenCode(code) || codes.includes(code)
  return {
    words,
    waits: true,
    judge(text, at, behind, final) {
      if (!begins(text, at)) return null
      const end = runEnd(text, behind, isPart)
      if (!final && end === text.length && end - behind < LONGEST_TOKEN) return { pending: at }
      whole.lastIndex = behind
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
  // Other makers of models, and what their agents search and browse with
  token(['gsk_', 'xai-', 'fw_', 'rpa_', 'pplx-', 'csk-', 'r8_'], `${A}{20,4000}`),
  token(
    ['nvapi-', 'tgp_v1_', 'jina_', 'pcsk_', 'tvly-', 'bb_live_', 'lsv2_pt_', 'lsv2_sk_'],
    `${W}{16,4000}`,
  ),
  token(['sk_'], `${H}{40,4000}`),
  token(['fc-', 'key-'], `${H}{32}`),
  token(['BSA'], `(?=${W}*\\d)${W}{24,28}`),
  token(['pa-'], `${W}{40,4000}`),
  // GitLab and other places of code and packages
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
  // Fly; a signed address of Azure's storage.
  token(['fm2_', 'fm1r_', 'fm1a_'], '[A-Za-z0-9+/_-]{40,4000}={0,2}', '+/='),
  token(['sig='], '(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])', '%+/='),
  // Money
  token(['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'shippo_live_'], `${A}{10,4000}`),
  token(['whsec_'], '[A-Za-z0-9+/]{16,4000}={0,2}', '+/='),
  token(['shpat_', 'shpca_', 'shppa_', 'shpss_'], `${H}{32}`),
  token(['sq0atp-', 'sq0csp-'], `${W}{22,4000}`),
  // Machines, storage, watching
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
  // Notes, messages, mail
  token(['lin_api_', 'ntn_'], `${A}{30,4000}`),
  token(['secret_'], `${A}{43}`),
  token(['PMAK-'], `${H}{24}-${H}{34}`),
  token(['xkeysib-'], `${H}{64}(?:-${A}+)?`),
  token(['SK'], `${H}{32}`),
  token(['EAA'], `${A}{100,4000}`),
  token(['eyJ'], `${W}{10,4000}\\.${W}{10,4000}(?:\\.${W}{0,4000})?`, '.'),
  // Discord: the id of the bot in base64, which is digits
  token(
    ['MT', 'Mj', 'Mz', 'ND', 'NT', 'Nj', 'Nz', 'OD', 'OT'],
    `${W}{22,26}\\.${W}{6}\\.${W}{27,40}`,
    '.',
  ),
]

/** The address is the key. */
const hook = (word: string, rest: string): Shape => {
  const whole = new RegExp(rest, 'y')
  return {
    words: [word],
    waits: false,
    judge(text, _at, behind, final) {
      const end = runEnd(text, behind, code => isTokenCode(code) || code === 47)
      if (!final && end === text.length && end - behind < LONGEST_TOKEN) return { pending: behind }
      whole.lastIndex = behind
      return whole.test(text) ? { from: behind, to: whole.lastIndex } : null
    },
    maybe: new RegExp(rest, 'y'),
  }
}

const HOOKS: readonly Shape[] = [
  hook('hooks.slack.com/services/', '[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]{10,4000}'),
  hook('discord.com/api/webhooks/', `\\d+/${W}{20,4000}`),
  hook('discordapp.com/api/webhooks/', `\\d+/${W}{20,4000}`),
]

/** Telegram: the number of the bot, then what begins with AA. */
const TELEGRAM: Shape = {
  words: [':AA'],
  waits: false,
  judge(text, at, behind, final) {
    const number = /(?:^|[^0-9A-Za-z_])(?:bot)?(\d{8,10})$/.exec(
      text.slice(Math.max(0, at - 16), at),
    )
    if (!number) return null
    const end = runEnd(text, behind, isTokenCode)
    const from = at + 1
    if (!final && end === text.length && end - at < 64) return { pending: from }
    return end - from === 35 ? { from, to: end } : null
  },
  maybe: new RegExp(`${W}{33}`, 'y'),
}

const LONGEST_BLOCK = 16_384
const BLOCK_HEAD = /-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const BLOCK_END = /-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
const BLOCK_LINES = /(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{16,})*/y

/** Where the block ends that begins with this head; undefined while that is not to be seen. */
const blockEnd = (text: string, head: number): number | undefined => {
  const next = text.indexOf('-----BEGIN', head)
  const most = Math.min(text.length, head + LONGEST_BLOCK, next === -1 ? Infinity : next)
  const found = BLOCK_END.exec(text.slice(head, most))
  // What a shell acts upon is not part of a key.
  if (!found || /[;&$()<>`]/.test(text.slice(head, head + found.index))) return undefined
  return head + found.index + found[0].length
}

const PRIVATE_KEY: Shape = {
  words: ['-----BEGIN'],
  waits: true,
  judge(text, at, _behind, final) {
    BLOCK_HEAD.lastIndex = at
    if (!BLOCK_HEAD.test(text)) {
      const isHeadYet = /^-----BEGIN[A-Z ]{0,60}-{0,4}$/.test(text.slice(at, at + 90))
      return !final && isHeadYet && text.length - at < 90 ? { pending: at } : null
    }
    const head = BLOCK_HEAD.lastIndex
    const end = blockEnd(text, head)
    if (end === undefined && !final && text.length - head < LONGEST_BLOCK) return { pending: at }
    BLOCK_LINES.lastIndex = head
    BLOCK_LINES.test(text)
    return { from: at, to: end ?? BLOCK_LINES.lastIndex, as: '[REDACTED PRIVATE KEY]' }
  },
  maybe: /[A-Z ]{0,40}PRIVATE KEY/y,
}

/** Between a name and the host of an address. Examples and variables are left alone. */
const USER_PART = /[^\s/?#@:"'`<>\\]{0,128}:/y
const PASSWORD_PART = /[^\s/?#@"'`<>\\;|&$(){}]{1,512}/y
const LOGIN: Shape = {
  words: ['://'],
  waits: false,
  judge(text, _at, behind, final) {
    USER_PART.lastIndex = behind
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

/** What an earlier pass hid, or what stands for a value: left as it is. */
const MASKED = /^(?:\*+|.{6}\.\.\..{4}|\[REDACTED.*|•+|x{3,}|\.{3,}|…)$/is

/** No mask covers what a shell acts upon: nothing that runs is hidden behind a name. */
const VALUE = /[^\s"'`\\;|&$()<>]{1,4096}/y
const BARE_VALUE = /[^\s"'`\\;|&$()<>,{}[\]]{1,4096}/y
const HEAD = /[\w-]{0,64}\\{0,8}["'`]?[ \t]{0,40}(:=|=>|[:=])(?![=:~])[ \t]{0,40}(\\{0,8}["'`])?/y

/** Letters and digits in no order of a word, a version, a date or a place. */
const isRandom = (value: string, quoted: boolean): boolean =>
  value.length >= (quoted ? 8 : 12) &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value) &&
  new Set(value).size >= 6 &&
  !/^[A-Za-z_$][\w$]*\.[A-Za-z_$]/.test(value) &&
  !/^[~.]{0,2}\/|:\/\/|\/.*\//.test(value) &&
  !/^[\d.:T+Z-]+[a-z]{0,3}$/i.test(value) &&
  !/^(?:[A-Za-z]+[-_.:])*[A-Za-z]+[-_.:]?v?\d{1,4}$/.test(value) &&
  !/^[A-Z]+(?:_[A-Z0-9]+)*$/.test(value)

const OTHER = /_(?:UR[LI]|NAME|TYPE|METHOD|FILE|PATH|DIR|HOST|PORT|EXCEPTION|ENDPOINT)\b/

const hasContent = /[A-Za-z0-9]/

/**
 * `NAME=value` with the name in capitals hides any value, as programs of this family do; everything else
 * (`api_key: …`, `"password": "…"`, `--token …`) only a value that cannot be a word of the language or of a program.
 */
const named = (text: string, behind: number, final: boolean, isUpper: boolean): Found => {
  HEAD.lastIndex = behind
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
  const found = { from, to }
  if (isAssigned) {
    // MAX_TOKENS=4096, TOKEN_URL=…: names of something else that has to do with it.
    const isOther = /^S\b/.test(whole) ? /^\d+\W?$/.test(value) : OTHER.test(whole)
    if (isOther && !isRandom(value, true)) return null
    // A call of a program's, not a value: `TOKEN=read(`.
    if (quote === undefined && text[to] === '(') return null
    if (quote !== undefined || !/[ \t]/.test(whole)) return found
  }
  return isRandom(value, quote !== undefined) ? found : null
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
  judge(text, at, behind, final) {
    const word = text.slice(at, behind)
    // AUTHOR=…
    if (word === 'AUTH' && text.startsWith('OR', behind) && text[behind + 2] !== 'I') return null
    return named(text, behind, final, UPPER.includes(word))
  },
  maybe: /[\w-]{0,64}\\*["'`]?(?:[ \t]|\\+t)*[:=]/y,
}

/** A scheme and a value, in a header, in JSON, in a command. */
const SCHEME =
  /\\{0,8}["']?[ \t]{0,40}[:=][ \t]{0,40}\\{0,8}["']?(?:bearer|basic|token|bot)[ \t]{1,40}/iy
const AUTHORIZATION: Shape = {
  words: ['authorization', 'Authorization', 'AUTHORIZATION'],
  waits: false,
  judge(text, _at, behind, final) {
    SCHEME.lastIndex = behind
    if (!SCHEME.test(text)) return null
    const from = SCHEME.lastIndex
    VALUE.lastIndex = from
    const to = VALUE.test(text) ? VALUE.lastIndex : from
    if (!final && to === text.length && to > from && to - from < 4_096) return { pending: from }
    const value = text.slice(from, to).replace(/[,;]+$/, '')
    return value === '' || MASKED.test(value) ? null : { from, to: from + value.length }
  },
  maybe: /\\*["']?(?:[ \t]|\\+t)*[:=]/y,
}

/** The scheme without the name of the header: a value has to look like one. */
const SPACES = /[ \t]{1,40}/y
const BEARER: Shape = {
  words: ['Bearer', 'bearer'],
  waits: false,
  judge(text, _at, behind, final) {
    SPACES.lastIndex = behind
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

/** `--api-key x`, also as two strings of a list: the value is the next word. */
const FLAG_VALUE = /(?:[ \t]{1,40}|\\{0,8}["'],[ \t]{0,40})\\{0,8}["']?/y
const FLAG: Shape = {
  words: ['-key', '-token', '-secret', '-password'],
  waits: false,
  judge(text, at, behind, final) {
    FLAG_VALUE.lastIndex = behind
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

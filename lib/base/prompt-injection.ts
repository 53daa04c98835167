/** Detects prompt injection in text that a model will read later as its own: invisible characters and takeover instructions. Pure. */

/** Zero-width space, word joiners, bidirectional controls, a byte order mark inside the text, and tag characters (invisible ASCII). */
const INVISIBLE =
  /[\u00ad\u180e\u200b\u2060-\u2064\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u

type Shape = readonly [what: string, pattern: RegExp]

/** Gaps are bounded, so that a long text can't take quadratic time. */
const TAKEOVER: readonly Shape[] = [
  [
    'an instruction to ignore earlier instructions',
    /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|your|any|system)\b.{0,40}\b(?:instructions?|rules?|guidelines?|prompts?|policies|restrictions?)\b/i,
  ],
  [
    'an instruction to hide something from the user',
    /\b(?:do\s+not|don['’]t|never)\s+(?:tell|inform|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to|show\s+(?:this|it)\s+to)\s+(?:the\s+)?(?:user|person|human|owner)\b/i,
  ],
  [
    'a forged system prompt',
    /<\/?\s*(?:system|system-reminder|im_start|im_end)\s*>|<\|im_start\|>/i,
  ],
  ['a forged system prompt', /\b(?:system|developer)\s+prompt\s+(?:override|update|injection)\b/i],
  [
    'an instruction to act without limits',
    /\b(?:act|behave|respond|pretend)\s+as\s+(?:if|though)\s+you\s+(?:have|had)\s+no\s+(?:restrictions?|limits?|rules?|guidelines?)\b/i,
  ],
]

const SECRET_PATH =
  '(?:\\.env\\b|\\.netrc\\b|\\.pgpass\\b|\\.npmrc\\b|\\.pypirc\\b|auth\\.json\\b|credentials\\b|id_(?:rsa|ed25519)\\b|\\.ssh/|\\.aws/)'
const SECRET_NAME = '\\$\\{?\\w{0,60}(?:API_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)\\w{0,60}'

const LEAK: readonly Shape[] = [
  [
    'a command that sends a secret to another host',
    new RegExp(
      `\\b(?:curl|wget|nc|ncat|http|scp|rsync)\\b.{0,200}(?:${SECRET_NAME}|@\\S{0,100}${SECRET_PATH})`,
      'i',
    ),
  ],
  [
    'a command that sends a secret to another host',
    new RegExp(`${SECRET_PATH}.{0,120}\\|\\s*(?:curl|wget|nc|ncat|base64)\\b`, 'i'),
  ],
]

const BACKDOOR: readonly Shape[] = [
  [
    'a command that grants SSH access',
    />>\s*\S{0,100}authorized_keys\b|\bauthorized_keys\b.{0,60}\b(?:append|add)\b/i,
  ],
  [
    'a remote shell',
    /\/dev\/(?:tcp|udp)\/|\b(?:nc|ncat|netcat)\b.{0,60}\s-(?:e|c)\b|\bsocat\b.{0,80}\bexec:/i,
  ],
]

const RUIN: readonly Shape[] = [
  [
    'a command that deletes everything',
    /\brm\s+-[a-z]*(?:rf|fr)[a-z]*\s+(?:--no-preserve-root\s+)?(?:\/|~|\$HOME)(?:\s|$|["'`;&|])/i,
  ],
  ['code that hides what it runs', /\bbase64\s+(?:-d|--decode)\b.{0,80}\|\s*(?:ba|z|da)?sh\b/i],
]

const find = (text: string, shapes: readonly Shape[]): string | null =>
  shapes.find(([, pattern]) => pattern.test(text))?.[0] ?? null

const hasInvisible = (text: string): boolean => INVISIBLE.test(text)

/** What is wrong with a note, a prompt, or an instruction file, worded to follow "it contains"; null if nothing is. */
export const findThreat = (text: string): string | null =>
  hasInvisible(text) ? 'invisible characters' : find(text, [...TAKEOVER, ...LEAK, ...BACKDOOR])

/** The same for text that will also be run. */
export const findThreatInCode = (text: string): string | null =>
  findThreat(text) ?? find(text, RUIN)

/**
 * Encodings of East Asian and Cyrillic files that are neither UTF-8 nor marked. Bytes are valid in several of them, so what
 * decides is whether the characters are common ones. Without a clear answer there is none.
 */

export const LEGACY = [
  'GBK',
  'Big5',
  'Shift_JIS',
  'EUC-JP',
  'EUC-KR',
  'Windows-1251',
  'KOI8-R',
] as const
export type LegacyEncoding = (typeof LEGACY)[number]

export const isLegacy = (encoding: string): encoding is LegacyEncoding =>
  LEGACY.some(name => name === encoding)

/** How common a character is by its place in the table, from 0 to 1, and the most frequent ones of the language. */
type EncodingKind = { common: (lead: number, trail: number) => number; frequent: string }

const CHINESE =
  '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产新数据件测试'
const TRADITIONAL =
  '的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產新數據件測試'
const JAPANESE =
  'ぁあいうえおかがきぎくぐけげこごさざしじすずせそただちっつてでとどなにぬねのはばひびふへべほまみむめもゃやゅゆょよらりるれろわをんァアィイウェエオカガキギクグケコゴサザシジスズセソタダチッツテデトドナニネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロワンー日本人一年大十二中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水男西電校語土木聞食車何南万毎白天母火右読友左休父雨'
const KOREAN =
  '이다는의에을가고하지은를로한기도사있어서자나인시그리대라것아수해정일전스부여제보만주상장면안우들었게원중된성공구동문학내소무국습니'

const within = (value: number, from: number, to: number): boolean => value >= from && value <= to

const KINDS: Readonly<Record<LegacyEncoding, EncodingKind>> = {
  GBK: {
    common: (lead, trail) =>
      trail < 0xa1 ? 0.1 : within(lead, 0xb0, 0xd7) ? 1 : within(lead, 0xa1, 0xa3) ? 1 : 0.3,
    frequent: CHINESE,
  },
  Big5: {
    common: lead => (within(lead, 0xa4, 0xc6) ? 1 : within(lead, 0xa1, 0xa3) ? 0.8 : 0.2),
    frequent: TRADITIONAL,
  },
  Shift_JIS: {
    common: (lead, trail) =>
      trail < 0
        ? 0.1
        : lead === 0x82 || lead === 0x83
          ? 1
          : lead === 0x81
            ? 0.8
            : within(lead, 0x88, 0x97)
              ? 0.9
              : 0.2,
    frequent: JAPANESE,
  },
  'EUC-JP': {
    common: lead =>
      lead === 0xa4 || lead === 0xa5
        ? 1
        : within(lead, 0xa1, 0xa3)
          ? 0.8
          : within(lead, 0xb0, 0xcf)
            ? 0.9
            : 0.2,
    frequent: JAPANESE,
  },
  'EUC-KR': {
    common: (lead, trail) =>
      trail < 0xa1 ? 0.3 : within(lead, 0xb0, 0xc8) ? 1 : within(lead, 0xa1, 0xa3) ? 0.5 : 0.2,
    frequent: KOREAN,
  },
  'Windows-1251': {
    common: lead => (lead >= 0xe0 ? 1 : lead >= 0xc0 ? 0.85 : lead === 0xb8 ? 1 : 0.1),
    frequent: 'оеаинтсрвлі',
  },
  'KOI8-R': {
    common: lead => (lead >= 0xe0 ? 0.85 : lead >= 0xc0 ? 1 : lead === 0xa3 ? 1 : 0.1),
    frequent: 'оеаинтсрвл',
  },
}

// ── Bytes of characters ─────────────────────────────────────────────────────────────────────────────────────────────

const MAX_POINT = 0x30000

const tables = new Map<LegacyEncoding, Uint16Array>()

/** The bytes of each character, by its code point; 0: it has none. The platform only decodes, so all are decoded once. */
const tableOf = (encoding: LegacyEncoding): Uint16Array => {
  const cached = tables.get(encoding)
  if (cached) return cached
  const units: Buffer[] = []
  for (let lead = 0x80; lead <= 0xff; lead++) {
    units.push(Buffer.of(lead))
    for (let trail = 0x40; trail <= 0xfe; trail++) units.push(Buffer.of(lead, trail))
  }
  const line = Buffer.of(10)
  const decoded = new TextDecoder(encoding)
    .decode(Buffer.concat(units.flatMap(unit => [unit, line])))
    .split('\n')
  const table = new Uint16Array(MAX_POINT)
  for (const [at, unit] of units.entries()) {
    const [char = '', ...more] = decoded[at] ?? ''
    const point = char.codePointAt(0) ?? 0
    if (more.length === 0 && char > '\x7f' && char !== '\ufffd' && table[point] === 0)
      table[point] = unit.readUIntBE(0, unit.length)
  }
  tables.set(encoding, table)
  return table
}

/** Null: a character does not exist in it; `onMissing` is told which. */
export const encodeLegacy = (
  text: string,
  encoding: LegacyEncoding,
  onMissing: (char: string) => void = () => {},
): Buffer | null => {
  const table = tableOf(encoding)
  const bytes = Buffer.allocUnsafe(text.length * 2)
  let size = 0
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at) ?? 0
    if (point > 0xffff) at++
    const code = point < 0x80 ? point : (table[point] ?? 0)
    if (code === 0 && point !== 0) {
      onMissing(String.fromCodePoint(point))
      return null
    }
    if (code > 0xff) bytes[size++] = code >> 8
    bytes[size++] = code & 0xff
  }
  return bytes.subarray(0, size)
}

/** Null: the bytes are not valid in it, or would come back as others. */
const decodeLegacy = (bytes: Buffer, encoding: LegacyEncoding): string | null => {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return encodeLegacy(text, encoding)?.equals(bytes) ? text : null
  } catch {
    // Not this encoding.
    return null
  }
}

// ── Which one it is ─────────────────────────────────────────────────────────────────────────────────────────────────

/** From the first line with such characters; more says nothing new, and each candidate reads it. */
const SAMPLE_BYTES = 32 * 1024
const MIN_COMMON = 0.55
const MIN_SCORE = 0.75
const MIN_LEAD = 0.1
/** In Cyrillic text: words with Latin letters, at most, and frequent letters, at least. Greek has fewer of these. */
const MAX_MIXED = 0.1
const MIN_FREQUENT = { small: 0.5, capital: 0.6 }
const MAX_STRANGE_WORDS = 0.15

const isCyrillic = (encoding: LegacyEncoding): boolean =>
  encoding === 'Windows-1251' || encoding === 'KOI8-R'

const scoreOf = (text: string, encoding: LegacyEncoding): number => {
  const { common, frequent } = KINDS[encoding]
  const table = tableOf(encoding)
  const runs = text.match(/[^\0-\x7f]+/g) ?? []
  const strange = [...runs.join('')]
  // Single letters are accents of a Western language.
  const single = runs.filter(run => [...run].length === 1)
  if (single.length * 2 > runs.length || strange.length < 2) return 0
  // A word of Latin and other letters is a Western one.
  const mixed = text.match(/(?<=[a-z])[^\0-\x7f]|[^\0-\x7f](?=[a-z])/giu) ?? []
  if (isCyrillic(encoding) && mixed.length > strange.length * MAX_MIXED) return 0
  let [sum, often] = [0, 0]
  for (const char of strange) {
    const code = table[char.codePointAt(0) ?? 0] ?? 0
    sum += code > 0xff ? common(code >> 8, code & 0xff) : common(code, -1)
    if (frequent.includes(char.toLowerCase())) often++
  }
  const [mean, share] = [sum / strange.length, often / strange.length]
  const least = MIN_FREQUENT[/\p{Ll}/u.test(text) ? 'small' : 'capital']
  if (isCyrillic(encoding) && (share < least || !isPronounceable(runs))) return 0
  return mean < MIN_COMMON ? 0 : mean + share
}

/**
 * Words of another alphabet have no vowels where these have them, and read as the other Cyrillic encoding, capital and small
 * letters change places.
 */
const isPronounceable = (words: readonly string[]): boolean =>
  words.filter(
    word => /\p{Ll}\p{Lu}/u.test(word) || (word.length > 2 && !/[аеёиоуыэюяіїє]/i.test(word)),
  ).length <=
  words.length * MAX_STRANGE_WORDS

const sampleOf = (bytes: Buffer): Buffer => {
  const first = bytes.findIndex(byte => byte > 0x7f)
  const from = bytes.lastIndexOf(10, first) + 1
  const sample = bytes.subarray(from, from + SAMPLE_BYTES)
  const end = sample.lastIndexOf(10)
  return from + SAMPLE_BYTES < bytes.length && end > 0 ? sample.subarray(0, end) : sample
}

/** Null: none of them, or no clear answer. */
export const detectLegacy = (bytes: Buffer): { encoding: LegacyEncoding; text: string } | null => {
  const sample = sampleOf(bytes)
  const [best, second] = LEGACY.flatMap(encoding => {
    const text = decodeLegacy(sample, encoding)
    return text === null ? [] : [{ encoding, score: scoreOf(text, encoding) }]
  }).toSorted((a, b) => b.score - a.score)
  const isClear = best && best.score >= MIN_SCORE && best.score - (second?.score ?? 0) >= MIN_LEAD
  const text = isClear ? decodeLegacy(bytes, best.encoding) : null
  return best && text !== null ? { encoding: best.encoding, text } : null
}

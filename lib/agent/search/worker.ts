/**
 * Worker thread of a search: reads files and counts or extracts matching lines. It is started from its own source text,
 * so it uses nothing outside this function, which may therefore exceed the line limit (`overrides` in biome.json).
 * Terminating the thread ends a pattern that never returns.
 */

export type SearchSetup = {
  source: string
  flags: string
  /** ASCII literal in every matching line; null if there is none. */
  literal: string | null
  /** Whether every match is also a match within a single line. */
  isPlain: boolean
  maxLineChars: number
  /** Files with more bytes are not counted without `places`. */
  largeBytes: number
  /** First bytes of files that are no text, one character per byte. */
  notText: readonly string[]
  /** Two numbers: steps done, and 1 while the pattern runs. */
  pulse: SharedArrayBuffer
}

/** The lines of a file that can match: their numbers, and the offset of a byte in each. */
export type LinePlaces = { numbers: Uint32Array; offsets: Float64Array }

/**
 * `count`: all matching lines. `lines`: `take` matching lines after `skip`. `places` is for a single file; null: all its
 * lines can match.
 */
export type SearchRequest =
  | {
      kind: 'count'
      fullPaths: readonly string[]
      places?: LinePlaces | null
      /** Matching lines to return beside the counts, at most. */
      take: number
      context: number
    }
  | {
      kind: 'lines'
      fullPath: string
      skip: number
      take: number
      context: number
      places: LinePlaces | null
    }

export type SearchHit = { line: number; content: string }
/** Number of matching lines, or why the file was skipped; `large` if its `places` must be asked for first. */
export type FileCount = number | 'binary' | 'unreadable' | 'large'
/**
 * What was found since the last response to the same request. `counts` are of the next files, `partial` of the one behind
 * them so far; `hits` name their file by its place in the request.
 */
export type SearchResponse = {
  isLast: boolean
  counts: FileCount[]
  partial: number
  hits: (SearchHit & { of: number })[]
}

/** PDF, ZIP, ELF, gzip, PNG: they may hold no NUL. */
export const NOT_TEXT_HEADS = ['%PDF', 'PK\x03\x04', '\x7fELF', '\x1f\x8b', '\x89PNG']

export const searchWorker = (): void => {
  const fs = process.getBuiltinModule('node:fs')
  const { isAscii, isUtf8 } = process.getBuiltinModule('node:buffer')
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  const { source, flags, literal, isPlain, maxLineChars, largeBytes, notText, pulse } =
    workerData as SearchSetup
  const CHUNK = 8 * 1024 * 1024
  const MAX_LINE_BYTES = 64 * 1024 * 1024
  const HEAD = 8_192
  const beat = new Int32Array(pulse)
  const one = new RegExp(source, flags)
  const all = new RegExp(source, `${flags}gm`)
  const needle = literal === null ? null : Buffer.from(literal)
  /** For the files of up to one chunk, one after the other: a new one for each takes longer than reading it. */
  let buffer = Buffer.allocUnsafeSlow(64 * 1024)

  const isBinary = (bytes: Buffer): boolean => {
    if (bytes.subarray(0, HEAD).includes(0)) return !isWide(bytes)
    const text = bytes.toString('latin1', 0, 8)
    return notText.some(head => text.startsWith(head))
  }
  const isWide = (bytes: Buffer): boolean =>
    (bytes[0] === 0xff && bytes[1] === 0xfe && !(bytes[2] === 0 && bytes[3] === 0)) ||
    (bytes[0] === 0xfe && bytes[1] === 0xff)

  const decode = (bytes: Buffer): string => {
    if (isAscii(bytes)) return bytes.toString('latin1')
    if (isUtf8(bytes)) return bytes.toString('utf8')
    // Line by line, because some lines may be UTF-8.
    const lines: string[] = []
    let from = 0
    while (from <= bytes.length) {
      const at = bytes.indexOf(10, from)
      const line = bytes.subarray(from, at < 0 ? bytes.length : at)
      lines.push(isUtf8(line) ? line.toString('utf8') : line.toString('latin1'))
      if (at < 0) break
      from = at + 1
    }
    return lines.join('\n')
  }

  /** Calls back with pieces of whole lines, and up to `context` lines around them; false stops reading. */
  const readPieces = (
    fd: number,
    size: number,
    context: number,
    use: (text: string, before?: string, after?: string) => boolean,
    pass: (bytes: Buffer) => void,
  ): FileCount => {
    if (size >= buffer.length && size < CHUNK)
      buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK, 2 * size))
    const small = size < buffer.length ? fs.readSync(fd, buffer, 0, buffer.length, 0) : -1
    if (small >= 0 && small < buffer.length) {
      const bytes = buffer.subarray(0, small)
      if (isBinary(bytes)) return 'binary'
      if (isWide(bytes)) use(wide(bytes))
      else if (needle === null || bytes.includes(needle)) use(decode(withoutMark(bytes)))
      return 0
    }
    let before = Buffer.alloc(0)
    let rest = Buffer.alloc(0)
    let position = 0
    for (let isFirst = true; ; isFirst = false) {
      const chunk = Buffer.allocUnsafe(CHUNK)
      const got = fs.readSync(fd, chunk, 0, CHUNK, position)
      position += got
      let bytes = Buffer.concat([rest, chunk.subarray(0, got)])
      if (isFirst && isBinary(bytes)) return 'binary'
      if (isFirst && isWide(bytes)) {
        use(wide(fs.readFileSync(fd)))
        return 0
      }
      if (isFirst) bytes = withoutMark(bytes)
      const isWhole = got === 0 || bytes.length > MAX_LINE_BYTES
      const cut = isWhole ? bytes.length : behindLine(bytes, bytes.length, context + 1)
      const piece = bytes.subarray(0, cut)
      rest = bytes.subarray(cut)
      const after = context > 0 ? decode(rest) : ''
      beat[0] = (beat[0] ?? 0) + 1
      if (needle !== null && !piece.includes(needle)) pass(piece)
      else if (piece.length > 0 && !use(decode(piece), decode(before), after)) return 0
      if (got === 0) return 0
      if (context > 0) {
        before = Buffer.concat([before, piece])
        before = before.subarray(behindLine(before, before.length, context + 1))
      }
    }
  }

  const withoutMark = (bytes: Buffer): Buffer<ArrayBuffer> =>
    (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
      ? bytes.subarray(3)
      : bytes) as Buffer<ArrayBuffer>
  const wide = (bytes: Buffer): string => {
    const body = Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)))
    return (bytes[0] === 0xff ? body : body.swap16()).toString('utf16le')
  }

  /** Calls `hit` with the offset and number of each matching line; false stops. */
  const scan = (
    text: string,
    first: number,
    isLast: boolean,
    hit: (from: number, line: number, text: string) => boolean,
  ): number => {
    // A lone carriage return is a line break only in files without `\n`.
    const lineEnd = text.includes('\n') ? '\n' : '\r'
    const lineAt = (from: number): string => {
      const at = text.indexOf(lineEnd, from)
      const to = at < 0 ? text.length : at
      return text.slice(from, text[to - 1] === '\r' && lineEnd === '\n' ? to - 1 : to)
    }
    let line = first
    let at = 0
    while (at < text.length) {
      let begin = at
      if (isPlain) {
        all.lastIndex = at
        const found = all.exec(text)
        if (!found) break
        begin = found.index === 0 ? 0 : text.lastIndexOf(lineEnd, found.index - 1) + 1
        if (begin >= text.length) break
        for (let next = at; next < begin; line++) next = text.indexOf(lineEnd, next) + 1
      }
      const body = lineAt(begin)
      if (one.test(body) && !hit(begin, line, body)) return line
      const end = text.indexOf(lineEnd, begin)
      if (end < 0) return line
      at = end + 1
      line++
    }
    if (!isLast)
      for (let next = text.indexOf(lineEnd, at); next >= 0; line++)
        next = text.indexOf(lineEnd, next + 1)
    return line
  }

  const BLOCK = 1024 * 1024
  const MARGIN = 64 * 1024

  /** Index behind the nth `\n` before `at`; the start of the block if there are fewer. */
  const behindLine = (block: Buffer, at: number, nth: number): number => {
    let end = at
    for (let n = 0; n < nth && end >= 0; n++) end = end === 0 ? -1 : block.lastIndexOf(10, end - 1)
    return end + 1
  }
  /** Index of the nth `\n` from `at` on; the end of the block if there are fewer. */
  const endOfLine = (block: Buffer, at: number, nth: number): number => {
    let end = at - 1
    for (let n = 0; n < nth; n++) {
      end = block.indexOf(10, end + 1)
      if (end < 0) return block.length
    }
    return end
  }

  /** Tests only these lines. False if the file has carriage returns as its only line breaks and must be read whole. */
  const scanPlaces = (
    fd: number,
    size: number,
    { numbers, offsets }: LinePlaces,
    context: number,
    hit: (from: number, line: number, body: string, text: string) => boolean,
  ): boolean => {
    let block = Buffer.alloc(0)
    let start = 0
    const load = (from: number, to: number): void => {
      if (from >= start && to <= start + block.length) return
      start = from
      block = Buffer.allocUnsafe(Math.min(size, Math.max(to, from + BLOCK)) - from)
      block = block.subarray(0, fs.readSync(fd, block, 0, block.length, from))
    }
    for (const [nth, offset] of offsets.entries()) {
      let at = 0
      let [first, begin, end, last] = [0, 0, 0, 0]
      for (let margin = MARGIN; ; margin *= 8) {
        load(Math.max(0, offset - margin), Math.min(size, offset + margin))
        at = offset - start
        begin = behindLine(block, at, 1)
        end = endOfLine(block, at, 1)
        first = context === 0 ? begin : behindLine(block, at, context + 1)
        last = context === 0 ? end : endOfLine(block, at, context + 1)
        const isWhole =
          (first > 0 || start === 0) && (last < block.length || start + block.length >= size)
        if (isWhole || margin > MAX_LINE_BYTES) break
      }
      const isBegin = start + begin === 0
      const line = decode(
        isBegin ? withoutMark(block.subarray(0, end)) : block.subarray(begin, end),
      )
      if (isBegin && end === block.length && line.includes('\r')) return false
      const body = line.endsWith('\r') ? line.slice(0, -1) : line
      beat[0] = (beat[0] ?? 0) + 1
      beat[1] = 1
      const isMatch = one.test(body)
      beat[1] = 0
      if (!isMatch) continue
      const above = block.subarray(first, Math.max(first, begin))
      const before = decode(start + first === 0 ? withoutMark(above) : above)
      // The line breaks around it show which kind the file has.
      const head = start + first > 0 ? `\n${before}` : before
      const text = head + line + decode(block.subarray(end, last + 1))
      if (!hit(head.length, numbers[nth] ?? 0, body, text)) return true
    }
    return true
  }

  const open = (fullPath: string): number | null => {
    try {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
      return fs.openSync(fullPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      // Deleted, unreadable, or replaced by a symlink.
      return null
    }
  }

  const each = (
    fullPath: string,
    hit: (from: number, line: number, body: string, text: string) => boolean,
    places?: LinePlaces | null,
    context = 0,
  ): FileCount => {
    const fd = open(fullPath)
    if (fd === null) return 'unreadable'
    let line = 1
    let count = 0
    try {
      const stat = fs.fstatSync(fd)
      if (!stat.isFile()) return 'unreadable'
      if (stat.size > largeBytes && places !== null) {
        const head = buffer.subarray(0, fs.readSync(fd, buffer, 0, HEAD, 0))
        if (isBinary(head)) return 'binary'
        if (!isWide(head)) {
          if (places === undefined) return 'large'
          const counted = (...found: Parameters<typeof hit>): boolean => {
            count++
            return hit(...found)
          }
          if (scanPlaces(fd, stat.size, places, context, counted)) return count
          count = 0
        }
      }
      const use = (text: string, before = '', after = ''): boolean => {
        const whole = before + text + after
        let isGoing = true
        beat[1] = 1
        line = scan(text, line, stat.size < CHUNK, (from, at, body) => {
          count++
          isGoing = hit(before.length + from, at, body, whole)
          return isGoing
        })
        beat[1] = 0
        return isGoing
      }
      const pass = (bytes: Buffer): void => {
        for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) line++
      }
      const result = readPieces(fd, stat.size, context, use, pass)
      return result === 0 ? count : result
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof RangeError) throw error
      // Read error.
      return 'unreadable'
    } finally {
      fs.closeSync(fd)
      beat[0] = (beat[0] ?? 0) + 1
    }
  }

  /** The part of a long line around the match. */
  const cut = (line: string, at: number): string => {
    if (line.length <= maxLineChars) return line
    const from = Math.max(
      0,
      Math.min(at - Math.floor(maxLineChars / 3), line.length - maxLineChars),
    )
    const to = from + maxLineChars
    const shown = line.slice(from, to).toWellFormed()
    return `${from > 0 ? '[…] ' : ''}${shown}${to < line.length ? ' […]' : ''}`
  }

  /** The line with those around it. */
  const hitAt =
    (context: number) =>
    (from: number, line: number, body: string, text: string): SearchHit => {
      const sign = text.includes('\n') ? '\n' : '\r'
      let [start, end] = [from, from + body.length]
      for (let n = 0; n < context && start > 0; n++)
        start = start < 2 ? 0 : text.lastIndexOf(sign, start - 2) + 1
      for (let n = 0; n <= context && end >= 0; n++) end = text.indexOf(sign, end + (n > 0 ? 1 : 0))
      const before = text.slice(start, from)
      const after = text.slice(from, end < 0 ? text.length : end)
      const around = (part: string) => part.split(sign).map(one => cut(one.replace(/\r$/, ''), 0))
      const [, ...below] = around(after)
      const at = one.exec(body)?.index ?? 0
      const above = around(before).slice(0, -1)
      return { line, content: [...above, cut(body, at), ...below].join('\n') }
    }

  const linesOf = ({
    fullPath,
    skip,
    take,
    context,
    places,
  }: Extract<SearchRequest, { kind: 'lines' }>): void => {
    const hits: SearchResponse['hits'] = []
    const toHit = hitAt(context)
    let passed = 0
    const show = (...found: Parameters<typeof toHit>): boolean => {
      if (passed++ >= skip) hits.push({ of: 0, ...toHit(...found) })
      return hits.length < take
    }
    each(fullPath, show, places, context)
    answer({ isLast: true, counts: [], partial: 0, hits })
  }

  /** Often enough that little is lost when the time of the search is up. */
  const ANSWER_EVERY_MS = 100
  const answer = (response: SearchResponse): void => parentPort?.postMessage(response)

  const countOf = ({
    fullPaths,
    take,
    context,
    places,
  }: Extract<SearchRequest, { kind: 'count' }>): void => {
    const toHit = hitAt(context)
    let left = take
    let counts: FileCount[] = []
    let hits: SearchResponse['hits'] = []
    let answeredAt = performance.now()
    const flush = (partial: number, isLast = false): void => {
      answer({ isLast, counts, partial, hits })
      counts = []
      hits = []
      answeredAt = performance.now()
    }
    for (const [of, fullPath] of fullPaths.entries()) {
      let found = 0
      const note = (...match: Parameters<typeof toHit>): boolean => {
        found++
        if (left > 0) {
          left--
          hits.push({ of, ...toHit(...match) })
        }
        if (performance.now() - answeredAt > ANSWER_EVERY_MS) flush(found)
        return true
      }
      // It may answer in between, and begin another list.
      const count = each(fullPath, note, places, take > 0 ? context : 0)
      counts.push(count)
      if (performance.now() - answeredAt > ANSWER_EVERY_MS) flush(0)
    }
    flush(0, true)
  }

  parentPort?.on('message', (ask: SearchRequest) =>
    ask.kind === 'count' ? countOf(ask) : linesOf(ask),
  )
}

/** Text of server-sent events (HTML Living Standard §9.2.6): frames, comments and heartbeats. */

/** A line break inside a field would begin a field of the sender's choosing. */
const oneLine = (text: string): string => text.replace(/[\r\n\0]+/g, ' ')

export const idField = (id: string | number): string => `id: ${oneLine(String(id))}\n`

/** A frame up to its data; the data (one line) and `FRAME_END` follow. */
export const frameHead = (type: string, id?: string | number): string =>
  `${id === undefined ? '' : idField(id)}event: ${oneLine(type)}\ndata: `

export const FRAME_END = '\n\n'

/** One frame. `data` is JSON text or a value. */
export const frame = (type: string, data: unknown, id?: string | number): string => {
  const text = typeof data === 'string' ? oneLine(data) : JSON.stringify(data)
  return `${frameHead(type, id)}${text}${FRAME_END}`
}

/** A frame without a type, which readers take for `message`. */
export const dataFrame = (data: unknown): string =>
  `data: ${typeof data === 'string' ? oneLine(data) : JSON.stringify(data)}${FRAME_END}`

/** Ignored by readers. */
export const comment = (text: string): string => `: ${oneLine(text)}${FRAME_END}`

/** Proxies close streams that are idle for longer, often 30 or 60 s. */
const HEARTBEAT_MS = 15_000
const HEARTBEAT = comment('heartbeat')

/** The items of `source`, and a heartbeat for every 15 s without one. Ends `source` when the reader stops early. */
export async function* withHeartbeats<T>(
  source: AsyncGenerator<T>,
  heartbeat = HEARTBEAT,
): AsyncGenerator<T | string> {
  let next = source.next()
  try {
    while (true) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const idle = new Promise<'idle'>(resolve => {
        timer = setTimeout(resolve, HEARTBEAT_MS, 'idle')
      })
      const result = await Promise.race([next, idle])
      clearTimeout(timer)
      if (result === 'idle') {
        yield heartbeat
        continue
      }
      if (result.done) return
      next = source.next()
      yield result.value
    }
  } finally {
    await source.return(undefined)
  }
}

/** The person at the terminal: the answer on standard output, everything else on standard error, questions one at a time. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'

export type Terminal = {
  /** Somebody can be asked. */
  interactive: boolean
  /** The answer itself. */
  out(text: string): void
  /** About the answer. */
  note(line: string): void
  /** One line; null at the end of the input, on Ctrl-C and when aborted. */
  ask(prompt: string, signal?: AbortSignal): Promise<string | null>
  /** As `ask`, without showing what is typed. */
  askHidden(prompt: string): Promise<string | null>
  /** All that is piped in. */
  readAll(): Promise<string>
  /** Resolves when what was written has left the process. */
  drain(): Promise<void>
}

/** Control characters of a model or a tool must not drive the terminal; line breaks and tabs may. */
const CONTROL = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
export const stripControlCharacters = (text: string): string => text.replace(CONTROL, '')

export const createTerminal = (
  input: NodeJS.ReadStream = process.stdin,
  output: NodeJS.WriteStream = process.stdout,
  errors: NodeJS.WriteStream = process.stderr,
): Terminal => {
  // A reader that has gone (`| head`) is no reason for a stack trace.
  for (const stream of [output, errors]) stream.on('error', () => undefined)
  const write = (stream: NodeJS.WriteStream, words: string): void => {
    if (stream.writable)
      stream.write(output.isTTY || stream.isTTY ? stripControlCharacters(words) : words)
  }
  return {
    interactive: Boolean(input.isTTY),
    out: words => write(output, words),
    note: line => write(errors, `${line}\n`),
    ask: (prompt, signal) =>
      new Promise(resolve => {
        // Made anew for each question: between them Ctrl-C belongs to the process.
        const reader = createInterface({
          input,
          output: errors,
          terminal: Boolean(input.isTTY && errors.isTTY),
        })
        const done = (line: string | null) => {
          signal?.removeEventListener('abort', stop)
          reader.close()
          resolve(line)
        }
        const stop = () => done(null)
        signal?.addEventListener('abort', stop, { once: true })
        reader.once('SIGINT', stop)
        reader.once('close', stop)
        reader.question(stripControlCharacters(prompt), done)
        if (signal?.aborted) stop()
      }),
    askHidden: prompt =>
      new Promise(resolve => {
        // It edits the line; what it would show goes nowhere.
        const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
        const reader = createInterface({ input, output: nowhere, terminal: true })
        const done = (line: string | null) => {
          reader.close()
          resolve(line)
        }
        errors.write(prompt)
        reader.once('line', line => {
          errors.write('\n')
          done(line)
        })
        reader.once('SIGINT', () => done(null))
        reader.once('close', () => done(null))
      }),
    readAll: () => text(input),
    drain: () =>
      new Promise(resolve => {
        const last = (stream: NodeJS.WriteStream, then: () => void) =>
          stream.writable ? stream.write('', then) : then()
        last(output, () => last(errors, resolve))
      }),
  }
}

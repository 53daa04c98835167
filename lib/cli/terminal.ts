/** Terminal I/O: the answer on standard output, everything else on standard error, and prompts. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'

export type Terminal = {
  /** Standard input is a terminal, so questions can be asked. */
  interactive: boolean
  /** Writes part of the answer to standard output. */
  out(text: string): void
  /** Writes a line to standard error. */
  note(line: string): void
  /** Reads one line; null at the end of the input, on Ctrl-C and when aborted. */
  ask(prompt: string, signal?: AbortSignal): Promise<string | null>
  /** Like `ask`, without echo. */
  askHidden(prompt: string): Promise<string | null>
  /** Reads standard input to its end. */
  readAll(): Promise<string>
  /** Resolves when all output has been written. */
  drain(): Promise<void>
}

/** Removes control characters except line breaks and tabs: text of a model or tool must not control the terminal. */
const CONTROL = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
const stripControlCharacters = (text: string): string => text.replace(CONTROL, '')

/** The terminal of this process. */
export class ProcessTerminal implements Terminal {
  readonly #input: NodeJS.ReadStream
  readonly #output: NodeJS.WriteStream
  readonly #errors: NodeJS.WriteStream
  readonly interactive: boolean

  constructor(
    input: NodeJS.ReadStream = process.stdin,
    output: NodeJS.WriteStream = process.stdout,
    errors: NodeJS.WriteStream = process.stderr,
  ) {
    this.#input = input
    this.#output = output
    this.#errors = errors
    // A closed pipe (`| head`) must not cause a stack trace.
    for (const stream of [output, errors]) stream.on('error', () => undefined)
    this.interactive = Boolean(input.isTTY)
  }

  #write(stream: NodeJS.WriteStream, text: string): void {
    if (stream.writable)
      stream.write(this.#output.isTTY || stream.isTTY ? stripControlCharacters(text) : text)
  }

  out(text: string): void {
    this.#write(this.#output, text)
  }

  note(line: string): void {
    this.#write(this.#errors, `${line}\n`)
  }

  ask(prompt: string, signal?: AbortSignal): Promise<string | null> {
    return new Promise(resolve => {
      // One reader per question: between questions, Ctrl-C must reach the process.
      const reader = createInterface({
        input: this.#input,
        output: this.#errors,
        terminal: Boolean(this.#input.isTTY && this.#errors.isTTY),
      })
      const done = (line: string | null) => {
        signal?.removeEventListener('abort', stop)
        // Before `close`, whose event resolves with null.
        resolve(line)
        reader.close()
      }
      const stop = () => done(null)
      signal?.addEventListener('abort', stop, { once: true })
      reader.once('SIGINT', stop)
      reader.once('close', stop)
      reader.question(stripControlCharacters(prompt), done)
      if (signal?.aborted) stop()
    })
  }

  askHidden(prompt: string): Promise<string | null> {
    return new Promise(resolve => {
      // readline edits the line; its echo is discarded.
      const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
      const reader = createInterface({ input: this.#input, output: discard, terminal: true })
      const done = (line: string | null) => {
        // As above.
        resolve(line)
        reader.close()
      }
      this.#errors.write(prompt)
      reader.once('line', line => {
        this.#errors.write('\n')
        done(line)
      })
      reader.once('SIGINT', () => done(null))
      reader.once('close', () => done(null))
    })
  }

  readAll(): Promise<string> {
    return text(this.#input)
  }

  drain(): Promise<void> {
    return new Promise(resolve => {
      const last = (stream: NodeJS.WriteStream, then: () => void) =>
        stream.writable ? stream.write('', then) : then()
      last(this.#output, () => last(this.#errors, resolve))
    })
  }
}

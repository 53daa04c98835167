/**
 * MCP over the standard streams of a child process, one JSON message per line. The transport of the library starts no
 * process group and passes on a part of our environment.
 */
import type { ChildProcess } from 'node:child_process'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { isObjectOrArray } from '../base/json.ts'
import { killGroup, spawnGroup } from '../base/process.ts'
import { sentence, type Words } from '../base/sentences.ts'
import { failed } from '../errors.ts'
import type { StdioServer } from './config.ts'
import type { McpTarget } from './connect.ts'

/** A server that sends a longer line is killed before it fills the memory. */
const MAX_LINE_CHARS = 16 * 1024 * 1024
/** SIGTERM and SIGKILL, counted from the closing of its input. */
const END_MS = 300
const KILL_MS = 1_000

/** Variables for search paths, locale and temporary files. None of these names is used for a secret. */
const INHERITED_VARIABLES =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_\w+|XDG_\w+|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|PATHEXT|WINDIR|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMFILES|PROGRAMDATA)$/i

const serverEnvironment = (
  env: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED_VARIABLES.test(name))),
  ...own,
})

/** Joins chunks to lines. */
const toLines = (onLine: (line: string) => void, onOverflow: () => void) => {
  let pieces: string[] = []
  let length = 0
  return (chunk: string): void => {
    const [first = '', ...rest] = chunk.split('\n')
    length += first.length
    pieces.push(first)
    for (const next of rest) {
      onLine(pieces.join(''))
      pieces = [next]
      length = next.length
    }
    if (length > MAX_LINE_CHARS) {
      pieces = []
      length = 0
      onOverflow()
    }
  }
}

export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #server: StdioServer
  readonly #target: McpTarget
  /** Standard error, and lines of standard output that are no JSON. */
  readonly #onOutput: (text: string) => void
  #child: ChildProcess | null = null
  #exitReason: Words | null = null
  #ended: Promise<void> = Promise.resolve()

  constructor(server: StdioServer, target: McpTarget, onOutput: (text: string) => void) {
    this.#server = server
    this.#target = target
    this.#onOutput = onOutput
  }

  /** How the process ended, in words; null while it runs. */
  exitReason(): Words | null {
    return this.#exitReason
  }

  start(): Promise<void> {
    const { command, args, cwd, env } = this.#server
    return new Promise((resolve, reject) => {
      const child = spawnGroup(command, args, {
        cwd: cwd ?? this.#target.dir,
        env: serverEnvironment(this.#target.env, env),
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      this.#child = child
      const { promise, resolve: settle } = Promise.withResolvers<void>()
      this.#ended = promise
      const finish = (how: Words) => {
        if (this.#exitReason !== null) return
        this.#exitReason = how
        settle()
        // Its remaining children hold the pipes and are of no use without it.
        killGroup(child, 'SIGKILL')
        this.onclose?.()
      }
      child.once('spawn', resolve)
      child.once('error', error => {
        const why =
          'code' in error && error.code === 'ENOENT'
            ? sentence('mcp.no_program', { command })
            : error.message
        reject(failed(why))
        finish(why)
      })
      child.once('exit', (code, signal) => {
        const how = signal
          ? sentence('mcp.killed', { signal })
          : sentence('mcp.exited', { code: code ?? 0 })
        // Its last lines may still be in the pipe.
        const late = setTimeout(finish, 50, how)
        child.once('close', () => {
          clearTimeout(late)
          finish(how)
        })
      })
      const readText = toLines(
        line => this.#receive(line),
        () => {
          this.#onOutput('\n[A message was longer than 16 MB; the server was stopped.]\n')
          killGroup(child, 'SIGKILL')
        },
      )
      child.stdout?.setEncoding('utf8').on('data', readText)
      child.stderr?.setEncoding('utf8').on('data', this.#onOutput)
      // EPIPE after the exit, which is reported by itself.
      for (const pipe of [child.stdin, child.stdout, child.stderr])
        pipe?.on('error', error => this.onerror?.(error))
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const input = this.#child?.stdin
      if (!input || this.#exitReason !== null || !input.writable) {
        reject(new Error('The server is not running.'))
        return
      }
      input.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve()))
    })
  }

  async close(): Promise<void> {
    const child = this.#child
    if (!child || this.#exitReason !== null) return
    child.stdin?.end()
    // The protocol ends with the end of input; the signals are for servers that ignore it.
    const polite = setTimeout(killGroup, END_MS, child, 'SIGTERM')
    const final = setTimeout(killGroup, KILL_MS, child, 'SIGKILL')
    await this.#ended
    clearTimeout(polite)
    clearTimeout(final)
  }

  #receive(line: string): void {
    const text = line.trim()
    if (text === '') return
    let message: unknown
    try {
      message = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined
    } catch {
      // Looks like a message but is not: treated as output.
      message = undefined
    }
    if (!isObjectOrArray(message)) {
      this.#onOutput(`${line}\n`)
      return
    }
    for (const one of Array.isArray(message) ? message : [message])
      this.onmessage?.(one as JSONRPCMessage)
  }
}

/** Behaviors of the test agent that concern where it runs, and for how long. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Behaviors } from './_acp-agent.ts'

/** A PNG of one pixel, and the same with a trailing byte, which is another file. */
export const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const OTHER_DOT = Buffer.concat([Buffer.from(DOT, 'base64'), Buffer.from('2')]).toString(
  'base64',
)

export const resultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    value => JSON.stringify(value),
    error => `refused: ${error instanceof Error ? error.message : String(error)}`,
  )

export const placeBehaviors: Behaviors = {
  /** The first word of the prompt that continues a turn. */
  async About({ text }) {
    await text('I continue.')
  },
  /** Works with files of its own, and tries those of the client. */
  async own({ id, cwd, client, text, offered: { fs, terminal } }, name) {
    const path = join(cwd, name)
    appendFileSync(path, 'done\n')
    const asked = await Promise.all([
      resultOf(client.request('fs/read_text_file', { sessionId: id, path })),
      resultOf(client.request('fs/write_text_file', { sessionId: id, path, content: 'x' })),
      resultOf(client.createTerminal({ sessionId: id, command: `touch ${path}.touched` })),
    ])
    await text(JSON.stringify({ uid: process.getuid?.(), cwd, fs, terminal, asked }))
  },
}

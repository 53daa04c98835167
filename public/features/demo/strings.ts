/** The English catalogue of the demo's introduction; it comes with it. */
import { translator } from '../../strings/t.ts'

export const enDemo = {
  text: 'This is the demo model: an offline script, not a language model. It understands a few simple requests and really works in the folder above.',
  samples: 'Things to try',
  list: 'List the files',
  write: 'Write notes.txt with hello brave world',
  run: 'Run `rm -rf build`',
  ask: 'Ask me something',
  markdown: 'Show me some Markdown',
  connect: 'Connect a model',
  skip: 'Stay with the demo',
} as const

export const td = translator(enDemo)

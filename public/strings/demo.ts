/** The English catalogue of the demo's introduction; it comes with it. */
import { translator } from './t.ts'

export const enDemo = {
  text: 'This is the demo model: offline and scripted, no language model. It understands a few plain requests and really works in the directory above.',
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

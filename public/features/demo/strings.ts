/** English text of the introduction to the demo model. */
import { translator } from '../../strings/t.ts'

export const t = translator('demo', {
  text: 'This is a scripted offline demo, not a language model. It handles a few simple requests and makes real changes in the folder above.',
  samples: 'Things to try',
  list: 'List the files',
  write: 'Write notes.txt with hello brave world',
  run: 'Run `rm -rf build`',
  ask: 'Ask me something',
  markdown: 'Show me some Markdown',
  connect: 'Connect a model',
  skip: 'Keep using the demo',
})

/** English text of the introduction to the demo model. */
import { translator } from '../../strings/t.ts'

export const t = translator('demo', {
  text: 'A scripted demo answers here until you connect a model. What it changes in the folder is real.',
  samples: 'Things to try',
  list: 'List the files',
  write: 'Create notes.txt',
  run: 'Try something risky (it asks first)',
  connect: 'Connect a model',
  skip: 'Keep using the demo',
})

/** The English catalogue of MCP servers; it comes with their settings. */
import { translator } from '../../strings/t.ts'

export const enMcp = {
  loading: 'Loading…',
  failed: 'Couldn’t load the servers.',
  retry: 'Try again',
  lead: 'Programs and services that give the agent more tools through the Model Context Protocol. They are stored in this profile’s config.yaml and start with the first message that can use them.',
  problem: 'config.yaml can’t be read, so nothing can be changed here: {problem}',
  none: 'No servers yet.',
  add: 'Add a server',

  'state.ready': { one: 'Running · 1 tool', other: 'Running · {count} tools' },
  'state.starting': 'Starting…',
  'state.stopped': 'Not running',
  'state.failed': 'Failed',
  'state.disabled': 'Off',
  'state.invalid': 'Can’t be used',

  use: 'Use {name}',
  test: 'Test',
  'test.of': 'Test {name}',
  'test.ok': {
    one: 'It answers and offers 1 tool.',
    other: 'It answers and offers {count} tools.',
  },
  edit: 'Edit',
  'edit.of': 'Edit {name}',
  remove: 'Remove',
  'remove.of': 'Remove {name}',
  'remove.title': 'Remove “{name}”?',
  'remove.text': 'It stops and is removed from config.yaml. The agent loses its tools.',
  removed: 'Removed “{name}”',

  tools: { one: '1 tool', other: '{count} tools' },
  'tools.of': { one: '{on} of 1 tool on', other: '{on} of {count} tools on' },
  'tool.reads': 'reads only',
  'tool.asks': 'asks first',
  output: 'Output',

  'form.new': 'Add a server',
  'form.edit': 'Edit “{name}”',
  'form.name': 'Name',
  'form.name.hint': 'Part of its tools’ names. Letters, digits, - _ and . only.',
  'form.kind': 'Connection',
  'form.kind.stdio': 'A program on this machine',
  'form.kind.http': 'An address',
  'form.line': 'Command',
  'form.line.hint': 'As you would type it in a terminal, with quotes around what has spaces.',
  'form.env': 'Environment variables',
  'form.env.hint':
    'One NAME=value per line. The server gets only these keys; {reference} stands for a variable of this profile.',
  'form.url': 'Address',
  'form.headers': 'Headers',
  'form.headers.hint':
    'One Name: value per line. {reference} stands for a variable of this profile.',
  'form.hidden': 'Hidden values stay as they are.',
  'form.save': 'Save and test',
  'form.saving': 'Saving…',
  'form.cancel': 'Cancel',
  'form.bad.line': 'The command has an unclosed quote.',
  'form.bad.pairs': 'Each line needs a name and a value.',
} as const

export const tm = translator(enMcp)

/** English text of Settings → Tools, loaded with it. */
import { translator } from '../../strings/t.ts'

const enMcp = {
  failed: 'Couldn’t load MCP servers.',
  lead: 'Programs and services that give the agent more tools through the Model Context Protocol. Saved in this profile’s config.yaml; started on first use.',
  problem: 'Couldn’t read config.yaml, so nothing can be changed here: {problem}',
  none: 'No servers yet',
  'none.text': 'Add one to give the agent its tools.',
  add: 'Add server',

  'state.ready': { one: 'Running · 1 tool', other: 'Running · {count} tools' },
  'state.starting': 'Starting…',
  'state.stopped': 'Not running',
  'state.failed': 'Failed',
  'state.disabled': 'Disabled',
  'state.invalid': 'Invalid configuration',

  'state.signIn': 'Sign-in needed',
  'state.signingIn': 'Signing in…',

  signIn: 'Sign in',
  'signIn.at': 'Sign in to {name}',
  'signIn.needed': 'This server requires a sign-in. Its page opens in your browser.',
  'signIn.offered': 'You can sign in to this server. Its page opens in your browser.',
  'signIn.starting': 'Opening…',
  'signIn.waiting': 'Finish the sign-in in your browser.',
  'signIn.waiting.paste':
    'Sign in, then copy the address of the page you end up on, even if it shows an error, and paste it here.',
  'signIn.page': 'Open the sign-in page',
  'signIn.paste': 'The browser didn’t come back?',
  'signIn.paste.label': 'Address of the page you ended up on',
  'signIn.finish': 'Continue',
  'signIn.cancel': 'Cancel sign-in',
  'signIn.done': 'Signed in at {host}.',
  'signIn.out': 'Sign out',
  'signIn.out.of': 'Sign out of {name}',
  'signIn.out.done': 'Signed out of “{name}”',
  'signIn.expired':
    'That sign-in has expired, was already used, or began in another browser. Start it again.',

  use: 'Enable {name}',
  test: 'Test',
  'test.of': 'Test {name}',
  'test.ok': { one: 'Connected. 1 tool available.', other: 'Connected. {count} tools available.' },
  edit: 'Edit',
  'edit.of': 'Edit {name}',
  remove: 'Remove',
  'remove.of': 'Remove {name}',
  'remove.title': 'Remove “{name}”?',
  'remove.text':
    'The server will be stopped and removed from config.yaml. The agent loses its tools.',
  removed: 'Removed “{name}”',

  tools: { one: '1 tool', other: '{count} tools' },
  'tools.of': { one: '{on} of 1 tool enabled', other: '{on} of {count} tools enabled' },
  'tool.reads': 'read-only',
  'tool.asks': 'asks for approval',
  output: 'Server output',

  'form.new': 'Add server',
  'form.edit': 'Edit “{name}”',
  'form.name': 'Name',
  'form.snippet': 'Paste its configuration',
  'form.snippet.hint': 'The JSON of its README fills the fields below.',
  'form.snippet.bad': 'No server found in this text yet.',
  'form.name.hint':
    'Used in the names of its tools. Letters, digits, hyphens, underscores, and periods only.',
  'form.kind': 'Transport',
  'form.kind.stdio': 'Local command (stdio)',
  'form.kind.http': 'URL (HTTP)',
  'form.line': 'Command',
  'form.line.hint': 'As you would type it in a terminal. Quote arguments that contain spaces.',
  'form.env': 'Environment variables',
  'form.env.hint':
    'One NAME=value per line. The server sees only these variables. Use {reference} for profile variables.',
  'form.url': 'URL',
  'form.headers': 'Headers',
  'form.headers.hint': 'One Name: value per line. Use {reference} for profile variables.',
  'form.hidden': 'Hidden values are kept.',
  'form.save': 'Save and test',
  'form.saving': 'Saving…',
  'form.bad.line': 'Unclosed quote in the command.',
  'form.bad.pairs': 'Each line needs a name and a value.',
} as const

export const t = translator('mcp', enMcp)

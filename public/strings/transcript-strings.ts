/** English text of messages: activity, answers, errors, code and media. Loaded with the transcript, or with a view that shows the same. */
import { translator } from './t.ts'

export const enTranscript = {
  'tx.region': 'Messages',
  'tx.you': 'You said',
  'tx.agent': '{name} replied',
  'tx.new': 'New',
  'tx.new.full': 'New messages. Jump to latest',
  'tx.new.label': 'Jump to latest',
  'tx.earlier': 'Loading earlier messages…',
  'tx.earlier.failed': 'Couldn’t load earlier messages.',
  'tx.stopped': 'Stopped',
  'tx.attached': 'Attached',
  'tx.whole': 'Show all {count} characters',
  'tx.whole.failed': 'Couldn’t load the rest.',
  'tx.loading': 'Loading…',
  'tx.copy': 'Copy',
  'tx.copy.text': 'Copy text',
  'tx.copy.markdown': 'Copy as Markdown',
  'tx.branch': 'Branch from here',
  'tx.edit': 'Edit',
  'tx.version': 'Version {n} of {count}',
  'tx.version.previous': 'Previous version',
  'tx.version.next': 'Next version',
  'tx.tokens': '{input} tokens in, {output} out',
  'tx.tokens.cached': '{input} tokens in ({percent}% cached), {output} out',
  'tx.more': 'Show more',
  'tx.less': 'Show less',
  'tx.file.open': 'Open {name}',

  'act.thinking': 'Thinking',
  'act.thought': 'Thought',

  'span.seconds': '{count} s',
  'span.minutes': '{minutes} min {seconds} s',
  'span.hours': '{hours} h {minutes} min',

  'code.plain': 'text',
  'formula.label': 'Formula',
  'code.copy': 'Copy code',
  'code.label': 'Code, {lang}',
  'code.diagram': 'Render diagram',
  'code.open': 'Open',
  'code.wrap': 'Wrap lines',
  'code.source': 'Show source',
  'code.failed': 'Couldn’t render this diagram (syntax error).',

  'copy.done': 'Copied',
  'copy.failed': 'Copy was blocked by the browser.',

  'md.done': 'Completed',
  'md.open': 'Not completed',
  'md.table': 'Table',
  'md.notes': 'Footnotes',
  'md.note': 'Footnote {number}',
  'md.image': 'Image',
  'md.image.load': 'Load from {host}',
  'md.image.broken': 'Couldn’t load this image. Open it in a new tab.',
  'md.more': { one: 'Show {count} more of {total}', other: 'Show {count} more of {total}' },

  'media.audio': 'Audio: {name}',
  'media.video': 'Video: {name}',
  'media.image': 'Image: {name}',
} as const

export const t = translator('messages', enTranscript)

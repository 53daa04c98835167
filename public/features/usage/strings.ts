/** English text of the usage view, loaded with it. */
import { translator } from '../../strings/t.ts'

export const enUsage = {
  'usage.title': 'Usage',
  'usage.lead': 'Tokens and estimated cost of answers, by day, model, profile, and source.',
  'usage.range': 'Range',
  'usage.days': { one: '{count} day', other: '{count} days' },
  'usage.csv': 'Export CSV',
  'usage.tokens': 'Tokens',
  'usage.input': 'Input',
  'usage.cached': 'Cached',
  'usage.output': 'Output',
  'usage.cost': 'Cost',
  'usage.turns': 'Answers',
  'usage.sessions': 'Chats',
  'usage.show': 'Show',
  'usage.chart': 'By day',
  'usage.chart.label': 'Chart by day: {what}. The same numbers are in the table below.',
  'usage.model': 'Model',
  'usage.profile': 'Profile',
  'usage.source': 'Source',
  'usage.day': 'Day',
  'usage.models': 'By model',
  'usage.profiles': 'By profile',
  'usage.sources': 'By source',
  'usage.table': 'Daily breakdown',
  'usage.failed': 'Couldn’t load usage.',
  'usage.empty': 'No usage in this period',
  'usage.empty.text': 'Tokens and cost of finished answers appear here.',
  'usage.unknown': 'unknown',
  'usage.foot': 'Days are in {zone}. Deleted chats aren’t included. Costs are estimates.',
  'source.webui': 'Web',
  'source.cli': 'CLI',
  'source.cron': 'Scheduled',
} as const

export const t = translator('usage', enUsage)

/** The sections of the settings, the parts of each, and which of them the person can change something in. */
import { may, type Route } from '../../parts/may.ts'
import { SECTIONS, type Section } from '../shell/route.ts'

/** In the order in which they stand on their page. */
export const PARTS = {
  general: ['rows', 'appearance'],
  models: ['models'],
  tools: ['tools', 'mcp', 'hooks'],
  permissions: ['commands', 'safety'],
  access: ['account', 'people', 'programs', 'activity'],
  notifications: ['notifications'],
  system: ['budgets', 'backups', 'updates', 'about'],
} as const satisfies Readonly<Record<Section, readonly string[]>>

export type SettingsPart = (typeof PARTS)[Section][number]

/** A route that only those call who may change the part. The others are about the person, or only read. */
const ROUTES: Readonly<Partial<Record<SettingsPart, Route>>> = {
  models: 'POST /api/providers',
  tools: 'POST /api/tools/toggle',
  mcp: 'POST /api/mcp/test',
  hooks: 'POST /api/tools/toggle',
  commands: 'POST /api/permissions',
  safety: 'POST /api/permissions',
  people: 'POST /api/people/invite',
  programs: 'POST /api/tokens/enable',
  activity: 'POST /api/permissions',
  budgets: 'POST /api/budgets',
  backups: 'POST /api/backups',
  updates: 'POST /api/updates/apply',
}

export const mayChange = (part: SettingsPart): boolean => {
  const route = ROUTES[part]
  return route === undefined || may(route)
}

export const openParts = (section: Section): readonly SettingsPart[] =>
  PARTS[section].filter(mayChange)

export const mayOpen = (section: Section): boolean => openParts(section).length > 0

export const openSections = (): readonly Section[] => SECTIONS.filter(mayOpen)

export const sectionOf = (part: SettingsPart): Section =>
  SECTIONS.find(section => (PARTS[section] as readonly SettingsPart[]).includes(part))!

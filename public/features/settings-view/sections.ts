/** The sections of the settings that the person can change something in. */
import { may, type Route } from '../../parts/may.ts'
import { SECTIONS, type Section } from '../shell/route.ts'

/** A route that only those call who may change the section. The others are about the person, or only read. */
const ROUTES: Readonly<Partial<Record<Section, Route>>> = {
  models: 'POST /api/providers',
  tools: 'POST /api/tools/toggle',
  mcp: 'POST /api/mcp/test',
  import: 'POST /api/import',
  people: 'POST /api/people/invite',
  budgets: 'POST /api/budgets',
  backups: 'POST /api/backups',
  updates: 'POST /api/updates/apply',
}

export const mayOpen = (section: Section): boolean => {
  const route = ROUTES[section]
  return route === undefined || may(route)
}

export const openSections = (): readonly Section[] => SECTIONS.filter(mayOpen)

/**
 * Another role, or other profiles, end what the person has open, and with it the event stream. Once it is up again, the page
 * shows what the person may do now.
 */
import { effect, untracked } from '@preact/signals'
import { rightsOf } from '../../../lib/base/rights.ts'
import type { PageApp } from '../../app.ts'

/** A page belongs to one profile. It stays in it while that is given, also where the person's first profile is another one now. */
const keepProfile = async ({ profiles, reloadIfProfileChanged }: PageApp): Promise<void> => {
  const { active, list } = profiles
  if (!(await profiles.hasChanged())) return
  await profiles.refresh()
  if (list.value.some(({ name }) => name === active.value)) await profiles.keep()
  else await reloadIfProfileChanged()
}

const reloadAll = async (app: PageApp): Promise<void> => {
  await keepProfile(app)
  const { profiles, projects, models, workspaces, personalities, skillCommands, reasoning } = app
  const parts = [profiles, projects, models, workspaces, personalities, skillCommands, reasoning]
  const ofOwner = app.settings.isOwner.value ? [app.configProblems] : []
  for (const part of [...parts, ...ofOwner]) void app.attempt(() => part.load())
  app.reloadLists()
  for (const { shown } of app.panes.value) void app.attempt(() => shown.peek().transcript.reload())
}

export const followRole = (app: PageApp): void => {
  const { connection, settings } = app
  // The settings may be older than the first connection.
  let wasLost = true
  /** Those of the page itself are older than all that it has requested. */
  let { rights } = document.documentElement.dataset
  const refresh = () =>
    app.attempt(async () => {
      await settings.load()
      const now = rightsOf(settings.person.peek())
      if (now === rights) return
      rights = now
      await reloadAll(app)
    })
  effect(() => {
    const { kind } = connection.state.value
    if (kind === 'waiting') wasLost = true
    if (kind !== 'live' || !wasLost) return
    wasLost = false
    // The first owner always stays one.
    if (settings.person.peek()?.id) untracked(() => void refresh())
  })
}

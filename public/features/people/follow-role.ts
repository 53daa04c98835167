/**
 * Another role, or other profiles, end what the person has open, and with it the event stream. Once it is up again, the page
 * shows what the person may do now.
 */
import { effect, untracked } from '@preact/signals'
import { rightsOf } from '../../../lib/base/rights.ts'
import type { Page } from '../../app.ts'

/** A page belongs to one profile. It stays in it while that is given, also where the person's first profile is another one now. */
const keepProfile = async ({ profiles }: Page): Promise<void> => {
  const { active, list } = profiles
  if (!(await profiles.hasChanged())) return
  await profiles.refresh()
  if (list.value.some(({ name }) => name === active.value)) await profiles.keep()
  else await profiles.reloadIfChanged()
}

const reloadAll = async (app: Page): Promise<void> => {
  await keepProfile(app)
  const profiles = app.profiles
  const projects = app.projects
  const models = app.models
  const workspaces = app.workspaces
  const { personalities, skillCommands, reasoning } = app.composing
  const parts = [profiles, projects, models, workspaces, personalities, skillCommands, reasoning]
  const ofOwner = app.settings.isOwner.value ? [app.shell.configProblems] : []
  for (const part of [...parts, ...ofOwner]) void app.shell.attempt(() => part.load())
  app.reloadLists()
  for (const { openChat } of app.panes.value)
    void app.shell.attempt(() => openChat.peek().transcript.reload())
}

export const followRole = (app: Page): void => {
  const { connection } = app.shell
  const settings = app.settings
  // The settings may be older than the first connection.
  let wasLost = true
  /** Those of the page itself are older than all that it has requested. */
  let { rights } = document.documentElement.dataset
  const refresh = () =>
    app.shell.attempt(async () => {
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

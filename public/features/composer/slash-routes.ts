/** The route that a slash command calls, so that a person whose role refuses it is not offered the command. */
import type { SlashCommandName } from '../../../lib/base/slash-commands.ts'
import { may, type Route } from '../../parts/may.ts'

/** Those without a route only change what the page shows. */
const ROUTES: Readonly<Partial<Record<SlashCommandName, Route>>> = {
  new: 'POST /api/session/new',
  retry: 'POST /api/session/truncate',
  undo: 'POST /api/session/undo',
  title: 'POST /api/session/rename',
  compact: 'POST /api/session/compress',
  branch: 'POST /api/session/branch',
  rollback: 'POST /api/rollback/restore',
  stop: 'POST /api/chat/cancel',
  queue: 'POST /api/queue/add',
  steer: 'POST /api/chat/steer',
  interrupt: 'POST /api/chat/interrupt',
  btw: 'POST /api/btw',
  background: 'POST /api/background',
  model: 'POST /api/session/update',
  workspace: 'POST /api/session/update',
  personality: 'POST /api/personality/set',
  reasoning: 'POST /api/reasoning',
  theme: 'POST /api/settings/personal',
  usage: 'POST /api/settings/personal',
  plan: 'POST /api/session/mode',
  // A member may turn it off, but has nothing to turn off: only an owner turns it on.
  yolo: 'POST /api/settings',
  tools: 'POST /api/session/toolsets',
}

export const mayRun = (name: SlashCommandName): boolean => {
  const route = ROUTES[name]
  return route === undefined || may(route)
}

/** The table of `doctor`: what is asked, in the order of the report. A start asks the part of `start-checks.ts`. */
import { agentChecks } from './agent-checks.ts'
import type { Check, CheckContext, Question } from './check.ts'
import {
  fileChecks,
  guardChecks,
  homeChecks,
  hookChecks,
  secretChecks,
  taskChecks,
} from './home-checks.ts'
import { mcpChecks } from './mcp-checks.ts'
import { modelCheck, modelServerChecks, providerChecks } from './model-checks.ts'
import * as service from './service-checks.ts'
import { signInChecks } from './service-checks.ts'
import { answersOf, START_QUESTIONS } from './start-checks.ts'

const QUESTIONS: readonly Question<CheckContext>[] = [
  { name: 'home', asks: 'Can the home of the profile be used?', answer: homeChecks },
  { name: 'files', asks: 'Can its files be read?', needs: 'home', answer: fileChecks },
  { name: 'tasks', asks: 'Will all tasks run?', answer: taskChecks },
  { name: 'settings', asks: 'Do all settings apply?', needs: 'state', answer: guardChecks },
  { name: 'hooks', asks: 'Can all hooks run?', answer: hookChecks },
  { name: 'secrets', asks: 'Can others read files with secrets?', answer: secretChecks },
  { name: 'providers', asks: 'Which providers have a usable key?', answer: providerChecks },
  { name: 'model', asks: 'Which model has a new chat?', answer: modelCheck },
  { name: 'model server', asks: 'Does the server of the model run?', answer: modelServerChecks },
  { name: 'user', asks: 'As whom does it run?', answer: service.rootCheck },
  { name: 'environment', asks: 'Are all variables known?', answer: service.environmentChecks },
  ...START_QUESTIONS,
  {
    name: 'state files',
    asks: 'Can the files of the service be read?',
    needs: 'state',
    answer: service.stateFileChecks,
  },
  {
    name: 'saved workspace',
    asks: 'Is the workspace of the settings there?',
    needs: 'state',
    answer: service.savedWorkspaceCheck,
  },
  {
    name: 'backups',
    asks: 'Did the last backup work?',
    needs: 'state',
    answer: service.backupChecks,
  },
  { name: 'workspace', asks: 'Is the default workspace there?', answer: service.workspaceCheck },
  { name: 'temporary files', asks: 'Can they be stored?', answer: service.temporaryCheck },
  {
    name: 'sessions',
    asks: 'Can all sessions be read?',
    needs: 'state',
    answer: service.sessionCheck,
  },
  { name: 'service', asks: 'Does it run, or could it?', answer: service.serviceCheck },
  { name: 'cluster', asks: 'Does the database answer?', answer: service.clusterChecks },
  { name: 'sign-in', asks: 'Who can sign in, and how?', answer: signInChecks },
  { name: 'programs', asks: 'Which programs are missing?', answer: service.programChecks },
  { name: 'shell', asks: 'What do commands get of the shell?', answer: service.shellChecks },
  { name: 'container', asks: 'Can commands run in theirs?', answer: service.containerChecks },
  { name: 'sandbox', asks: 'Do commands run in one?', answer: service.sandboxChecks },
  { name: 'search', asks: 'Can the agent search in files?', answer: service.searchChecks },
  {
    name: 'database',
    asks: 'Can sessions of the command line be read?',
    needs: 'home',
    answer: service.databaseCheck,
  },
  { name: 'mcp', asks: 'Can all MCP servers be reached?', answer: mcpChecks },
  {
    name: 'notifications',
    asks: 'Did the last ones arrive?',
    needs: 'state',
    answer: service.notificationChecks,
  },
  { name: 'agents', asks: 'Do all external agents answer?', answer: agentChecks },
]

export const runChecks = async (context: CheckContext): Promise<Check[]> => {
  const checks = await answersOf(QUESTIONS, context)
  // One sentence about the clock is enough.
  return checks.some(({ code }) => code === 'clock_behind')
    ? checks.filter(({ about, code }) => about !== 'clock' || code === 'clock_behind')
    : checks
}

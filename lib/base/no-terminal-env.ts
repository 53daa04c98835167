/** Nobody can type into a command of the agent: what opens an editor goes on with what is there, and nothing waits in a pager. */
export const NO_TERMINAL_ENV: Readonly<Record<string, string>> = {
  GIT_EDITOR: 'true',
  // Else the configuration's sequence.editor would open for a rebase.
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_PAGER: 'cat',
  PAGER: 'cat',
}

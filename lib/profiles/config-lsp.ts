/** The keys of config.yaml for diagnostics of language servers; names and meaning as the host agent has them. */
import { flag, number, raw, section } from './config-schema-helpers.ts'

export const lspKeys = {
  lsp: section(
    {
      enabled: flag(
        false,
        'After write_file and patch, ask a language server for new errors and warnings, and give them to the model with the result.',
      ),
      wait_timeout: number(
        5,
        'Seconds to wait for a language server after an edit, its start included. What comes later is dropped.',
        { max: 60 },
      ),
      idle_timeout: number(
        600,
        'Seconds without an edit after which a language server is stopped; 0 never.',
        { orZero: true, max: 86_400 },
      ),
      servers: raw({
        type: 'a mapping from names to servers',
        description:
          'Language servers by name, built-in ones (`typescript`, `pyright`, `gopls`, `rust-analyzer`, `clangd`) or your own; see diagnostics.md.',
        keys: {
          disabled: '`true` switches it off.',
          command:
            'Program and arguments, as a list. You answer for it: it may be in the workspace.',
          extensions: 'Required for your own: `[".foo"]`.',
          language_id: 'Name of the language in the protocol; the extension by default.',
          root_markers: 'Files that mark the root of a project; the workspace by default.',
          env: 'More variables.',
          initialization_options: 'Settings for the server, as its documentation says.',
        },
      }),
    },
    'enabled',
  ),
}

/** Names of files and directories that the sandbox treats in a special way. */

/** Below the home directory: programs and libraries of tool managers, visible read-only. */
export const TOOLS_OF_HOME = [
  'bin',
  'go',
  '.local/bin',
  '.local/lib',
  '.local/pipx',
  '.local/share/fnm',
  '.local/share/mise',
  '.local/share/pipx',
  '.local/share/pnpm',
  '.local/share/uv',
  '.asdf',
  '.bun',
  '.cargo',
  '.deno',
  '.dotnet',
  '.elan',
  '.ghcup',
  '.goenv',
  '.linuxbrew',
  '.nodenv',
  '.npm-global',
  '.nvm',
  '.nix-profile',
  '.opam',
  '.pyenv',
  '.rbenv',
  '.rustup',
  '.sdkman',
  '.volta',
  '.yarn/bin',
  'Library/pnpm',
  'anaconda3',
  'miniconda3',
  'miniforge3',
] as const

/** Variables that name the directory of a tool. */
export const TOOL_VARIABLES = [
  'BUN_INSTALL',
  'CARGO_HOME',
  'CONDA_PREFIX',
  'DENO_INSTALL',
  'FNM_DIR',
  'GOPATH',
  'GOROOT',
  'JAVA_HOME',
  'MISE_DATA_DIR',
  'NVM_DIR',
  'PNPM_HOME',
  'PYENV_ROOT',
  'RBENV_ROOT',
  'RUSTUP_HOME',
  'SDKMAN_DIR',
  'VIRTUAL_ENV',
  'VOLTA_HOME',
] as const

/** Below the home directory: keys and logins. Hidden wherever the home directory is visible. */
export const CREDENTIALS = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.netrc',
  '.pgpass',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.config/gh',
  '.config/gcloud',
  '.config/git/credentials',
  '.config/google-chrome',
  '.config/chromium',
  '.config/BraveSoftware',
  '.mozilla',
  '.password-store',
  '.local/share/keyrings',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.Xauthority',
  'Library/Application Support/BraveSoftware',
  'Library/Application Support/Firefox',
  'Library/Application Support/Google/Chrome',
  'Library/Cookies',
  'Library/Keychains',
  'Library/Mail',
  'Library/Messages',
  'Library/Safari',
] as const

/** Files of the system with secrets, which only matter to a service that runs as root. */
export const SYSTEM_SECRETS = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/ssl/private',
  '/etc/agent-webui.env',
  '/etc/ssh/ssh_host_rsa_key',
  '/etc/ssh/ssh_host_ecdsa_key',
  '/etc/ssh/ssh_host_ed25519_key',
] as const

/**
 * In the workspace: files that other programs run or obey outside the sandbox without being started by the user. They
 * are read-only where they exist. New ones are not prevented: editors and direnv ask before they trust them.
 */
export const PROTECTED_IN_WORKSPACE = [
  '.vscode',
  '.idea',
  '.zed',
  '.devcontainer',
  '.envrc',
  '.mcp.json',
  '.claude',
  '.cursor',
  '.gemini',
  '.codex',
  '.agent-webui',
] as const

/** Variables that lead to agents, displays, and buses outside the sandbox, or to directories that are not in it. */
export const DROPPED_VARIABLES =
  /^(?:SSH_(?:AUTH_SOCK|AGENT_PID|CONNECTION|CLIENT|TTY)|GPG_(?:AGENT_INFO|TTY)|DBUS_\w+|DISPLAY|WAYLAND_\w+|XAUTHORITY|XDG_(?:RUNTIME_DIR|SESSION_\w+|SEAT\w*|VTNR)|DOCKER_\w+|CONTAINER_HOST|TMPDIR|TEMP|TMP|TMUX\w*|STY|VSCODE_\w+|GIT_ASKPASS|SSH_ASKPASS|KRB5CCNAME|NOTIFY_SOCKET|INVOCATION_ID|JOURNAL_STREAM|LISTEN_\w+|CREDENTIALS_DIRECTORY)$/

/** Environment variables that change which code other programs run. */
import { settingsOf } from './assignments.ts'
import { ANY_VALUE, hasUnknown } from './syntax.ts'
import type { SimpleCommand } from './types.ts'

/** Variables that decide which program runs or what it does. */
const LOADED =
  /^(?:PATH|BASH_(?:ENV|CMDS|ALIASES|LOADABLES_PATH)|ENV|IFS|CDPATH|PROMPT_COMMAND|PS[0124]|SHELLOPTS|BASHOPTS|SHELL|LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|GIT_(?:SSH(?:_COMMAND)?|EDITOR|SEQUENCE_EDITOR|PAGER|EXTERNAL_DIFF|ASKPASS|CONFIG\w*|EXEC_PATH|PROXY_COMMAND|TEMPLATE_DIR|DIR|WORK_TREE|COMMON_DIR|OBJECT_DIRECTORY|INDEX_FILE|ALTERNATE\w*|ALLOW_PROTOCOL)|SSH_ASKPASS|SUDO_ASKPASS|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|LESSCLOSE|LESS|MANROFFOPT|FCEDIT|PERL5(?:LIB|OPT|DB)|PERLLIB|PYTHON(?:STARTUP|USERBASE|PATH|HOME|INSPECT|BREAKPOINT|WARNINGS)|RUBY(?:OPT|LIB)|NODE_(?:OPTIONS|PATH)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|BUNDLE_GEMFILE|GEM_(?:HOME|PATH)|ERL_LIBS|DOTNET_(?:STARTUP_HOOKS|ROOT|ADDITIONAL_DEPS|SHARED_STORE)|CORECLR_PROFILER\w*|(?:JAVA|SBT|ANT|KOTLIN|JVM|SCALA|GROOVY)_OPTS|ERL_FLAGS|GO(?:PROXY|INSECURE)|COMPOSER(?:_HOME|_VENDOR_DIR)?|MAVEN_OPTS|GRADLE_OPTS|MAKEFLAGS|MAKEFILES|RUSTC_WRAPPER|RUSTFLAGS|RUSTC|RUSTC_WORKSPACE_WRAPPER|CARGO_(?:BUILD|TARGET|HOME)\w*|GOFLAGS|GOTOOLCHAIN|GOROOT|CC|CXX|AR|LDFLAGS|TAR_OPTIONS|GZIP|RSYNC_\w+|CVS_RSH|npm_config_\w+|NPM_CONFIG_\w+|PIP_\w+|UV_\w+|HTTPS?_PROXY|ALL_PROXY|https?_proxy|all_proxy|RIPGREP_CONFIG_PATH|GIT_TRACE\w*|LUA_\w+|PHPRC|PHP_INI_SCAN_DIR|R_PROFILE|JUPYTER_\w+|DOCKER_HOST|KUBECONFIG|AWS_CONFIG_FILE|HOME|XDG_CONFIG_HOME|TERM_PROGRAM|HISTFILE|INPUTRC|GDBINIT|VIMINIT|EXINIT|MYVIMRC|WGETRC|CURL_HOME|ZDOTDIR|OPENSSL_CONF|GCONV_PATH|HOSTALIASES|LOCALDOMAIN|TZDIR|TMPDIR|PROXYCHAINS\w*|TERMINFO|QT_PLUGIN_PATH|GTK_MODULES|GIO_MODULE_DIR|XDG_DATA_DIRS|AGENT_\w+|HERMES_\w+)$/

const GOOD_DIRECTORY =
  /^(?:\$?PATH|\/(?:usr(?:\/local)?|opt\/homebrew|opt\/local)?\/?s?bin|\/usr\/games|\/usr\/local\/(?:go|node|opt\/[\w.@-]+|lib\/[\w.-]+)\/bin|\/usr\/lib\/[\w./-]+|\/snap\/bin|\/opt\/[\w./-]+\/bin|(?:~?.*\/)?(?:\.cargo|\.local|go|\.bun|\.deno|\.nvm\/versions\/node\/[^/]+|\.npm-global|\.pyenv(?:\/shims)?|\.rbenv(?:\/shims)?|\.volta|\.asdf\/shims|\.yarn|\.poetry|\.rustup\/[\w./-]+|\.dotnet(?:\/tools)?|\.sdkman\/[\w./-]+|(?:mini|ana)conda3(?:\/envs\/[\w.-]+)?|node_modules\/\.|\.?v?env|venv\w*)\/?(?:bin|Scripts|shims|tools)?)\/?$/

const isHarmlessSetting = (name: string, value: string): boolean => {
  if (name === 'PATH') {
    const parts = value.split(':')
    // An empty part is the current directory, which may contain a program of any name.
    return parts.every(part => GOOD_DIRECTORY.test(part) && !/(?:^|\/)\.\.(?:\/|$)/.test(part))
  }
  if (/^(?:PAGER|MANPAGER|GIT_PAGER|LESS)$/.test(name))
    return /^(?:cat|less|more|-[\w#]+|less -\w+|)$/.test(value)
  if (/^(?:EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR)$/.test(name))
    return /^(?:true|:|cat|vi|vim|nano|code --wait|)$/.test(value)
  if (name === 'IFS') return !/[\w/.-]/.test(value.replace(/\\[nt]/g, ''))
  if (
    /^(?:PYTHONPATH|NODE_PATH|RUBYLIB|CLASSPATH|PERL5LIB|BUNDLE_GEMFILE|GEM_(?:HOME|PATH)|ERL_LIBS|COMPOSER(?:_VENDOR_DIR)?|DOTNET_ROOT)$/.test(
      name,
    )
  )
    return value.split(':').every(part => !/^(?:\/tmp|\/var\/tmp|\/dev)/.test(part))
  // Anything else is a file that git appends to.
  if (name.startsWith('GIT_TRACE')) return /^(?:[012]?|true|false)$/.test(value)
  if (name === 'PYTHONWARNINGS') return /^[\w:,.]*$/.test(value)
  if (name === 'NODE_OPTIONS')
    return (
      !/(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader|--eval|-e)\b/.test(value) &&
      !hasUnknown(value)
    )
  if (/^(?:RUSTFLAGS|GOFLAGS|LDFLAGS|MAVEN_OPTS|GRADLE_OPTS|_?JAVA_\w+|\w+_OPTS)$/.test(name))
    return !/linker|toolexec|-exec|javaagent|agentpath|OnError|plugin/.test(value)
  if (/^(?:CC|CXX|AR|RUSTC_WRAPPER)$/.test(name))
    return /^(?:ccache |sccache )?(?:[\w-]*(?:gcc|clang|g\+\+|cc|c\+\+|ar)(?:[-+\d.]*)|sccache|ccache|)$/.test(
      value,
    )
  if (name === 'GOPROXY') return /^(?:https:\/\/proxy\.golang\.org|direct|off|[,|])+$/.test(value)
  if (/^MAKEFLAGS$/.test(name)) return /^-?j?\s*-?j?\d*$/.test(value)
  if (/^GOTOOLCHAIN$/.test(name)) return /^(?:local|auto|go[\d.]+)$/.test(value)
  if (
    /^(?:CARGO_(?:TERM|INCREMENTAL|NET|PROFILE)\w*|CARGO_TARGET_DIR|CARGO_BUILD_JOBS|PIP_(?:NO_CACHE_DIR|DISABLE_PIP_VERSION_CHECK|QUIET)|UV_(?:CACHE_DIR|LINK_MODE|SYSTEM_PYTHON)|npm_config_(?:yes|loglevel|fund|audit|cache)|NPM_CONFIG_(?:YES|LOGLEVEL|FUND|AUDIT|CACHE))$/.test(
      name,
    )
  )
    return true
  if (/^GIT_CONFIG_NOSYSTEM$|^GIT_TERMINAL_PROMPT$/.test(name)) return true
  return name === 'TMPDIR' ? /^\/tmp/.test(value) : false
}

/** Whether a variable with this value can change which code other programs run. */
export const isLoadedSetting = (name: string, value: string): boolean =>
  hasUnknown(name) ||
  (LOADED.test(name) && (value === ANY_VALUE || !isHarmlessSetting(name, value)))

/** Whether it sets such a variable to a value that isn't known to be harmless. */
export const setsLoadedVariable = (simple: SimpleCommand): boolean =>
  settingsOf(simple).some(([variable, value]) => isLoadedSetting(variable, value))

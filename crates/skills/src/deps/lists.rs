//! Flat lists: what belongs to Python and Node, which distribution holds which import, which
//! package holds which program, and what every system has.
//!
//! The module names come from `sys.stdlib_module_names` and `module.builtinModules`, with names
//! that older and newer versions add.

/// Modules that come with Python. Sorted.
const PYTHON_STDLIB: &str = include_str!("lists/python-stdlib.txt");

/// Modules that come with Node. Sorted.
const NODE_BUILTIN: &str = include_str!("lists/node-builtin.txt");

/// Imports whose distribution has another name. Sorted by import.
const DISTRIBUTIONS: &[(&str, &str)] = &[
    ("Bio", "biopython"),
    ("Crypto", "pycryptodome"),
    ("MySQLdb", "mysqlclient"),
    ("OleFileIO_PL", "olefile"),
    ("OpenGL", "PyOpenGL"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "Pillow"),
    ("Xlib", "python-xlib"),
    ("absl", "absl-py"),
    ("attr", "attrs"),
    ("barcode", "python-barcode"),
    ("binance", "python-binance"),
    ("bs4", "beautifulsoup4"),
    ("cairo", "pycairo"),
    ("camelot", "camelot-py"),
    ("community", "python-louvain"),
    ("cv2", "opencv-python-headless"),
    ("dateutil", "python-dateutil"),
    ("discord", "discord.py"),
    ("dns", "dnspython"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("faiss", "faiss-cpu"),
    ("ffmpeg", "ffmpeg-python"),
    ("fitz", "PyMuPDF"),
    ("flask_cors", "Flask-Cors"),
    ("fpdf", "fpdf2"),
    ("git", "GitPython"),
    ("github", "PyGithub"),
    ("googleapiclient", "google-api-python-client"),
    ("grpc", "grpcio"),
    ("haystack", "haystack-ai"),
    ("igraph", "python-igraph"),
    ("jose", "python-jose"),
    ("jwt", "PyJWT"),
    ("kafka", "kafka-python"),
    ("ldap", "python-ldap"),
    ("magic", "python-magic"),
    ("markdown", "Markdown"),
    ("markdown_it", "markdown-it-py"),
    ("mpl_finance", "mplfinance"),
    ("mpl_toolkits", "matplotlib"),
    ("multipart", "python-multipart"),
    ("nacl", "PyNaCl"),
    ("nmap", "python-nmap"),
    ("odf", "odfpy"),
    ("osgeo", "GDAL"),
    ("pdfminer", "pdfminer.six"),
    ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pylab", "matplotlib"),
    ("pymupdf", "PyMuPDF"),
    ("pythoncom", "pywin32"),
    ("pywintypes", "pywin32"),
    ("readability", "readability-lxml"),
    ("rest_framework", "djangorestframework"),
    ("ruamel", "ruamel.yaml"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("snappy", "python-snappy"),
    ("socks", "PySocks"),
    ("speech_recognition", "SpeechRecognition"),
    ("tabula", "tabula-py"),
    ("telegram", "python-telegram-bot"),
    ("tlz", "toolz"),
    ("umap", "umap-learn"),
    ("usb", "pyusb"),
    ("websocket", "websocket-client"),
    ("win32api", "pywin32"),
    ("win32clipboard", "pywin32"),
    ("win32com", "pywin32"),
    ("wx", "wxPython"),
    ("xdg", "pyxdg"),
    ("yaml", "PyYAML"),
    ("zmq", "pyzmq"),
];

/// Imports of two parts whose distribution depends on both. Sorted by import.
const NAMESPACED: &[(&str, &str)] = &[
    ("google.auth", "google-auth"),
    ("google.cloud.storage", "google-cloud-storage"),
    ("google.genai", "google-genai"),
    ("google.generativeai", "google-generativeai"),
    ("google.oauth2", "google-auth"),
    ("google.protobuf", "protobuf"),
    ("ruamel.yaml", "ruamel.yaml"),
];

/// Distributions that start a program of the system. Sorted by their normal spelling.
const STARTED_BY: &[(&str, &str)] = &[
    ("camelot-py", "gs"),
    ("ffmpeg-python", "ffmpeg"),
    ("gitpython", "git"),
    ("graphviz", "dot"),
    ("ocrmypdf", "tesseract"),
    ("pdf2image", "pdftoppm"),
    ("pydub", "ffmpeg"),
    ("pypandoc", "pandoc"),
    ("pytesseract", "tesseract"),
    ("tabula-py", "java"),
];

/// Modules that come with a system package and that no registry has, or has under that name
/// something else. Sorted.
const SYSTEM_MODULES: &[(&str, &str)] = &[
    ("_apt_pkg", "python3-apt"),
    ("apt", "python3-apt"),
    ("apt_pkg", "python3-apt"),
    ("bpy", "blender"),
    ("dbus", "python3-dbus"),
    ("gi", "python3-gi"),
    ("rpm", "python3-rpm"),
    ("uno", "python3-uno"),
    ("unohelper", "python3-uno"),
];

/// Programs and the package of Debian that holds them. Sorted by program.
const PACKAGES: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("bun", ""),
    ("cargo", "cargo"),
    ("chromium", "chromium"),
    ("cmake", "cmake"),
    ("convert", "imagemagick"),
    ("curl", "curl"),
    ("deno", ""),
    ("dot", "graphviz"),
    ("exiftool", "libimage-exiftool-perl"),
    ("ffmpeg", "ffmpeg"),
    ("ffprobe", "ffmpeg"),
    ("gcc", "gcc"),
    ("gh", "gh"),
    ("git", "git"),
    ("go", "golang-go"),
    ("gs", "ghostscript"),
    ("identify", "imagemagick"),
    ("inkscape", "inkscape"),
    ("java", "default-jre-headless"),
    ("jq", "jq"),
    ("latexmk", "latexmk"),
    ("libreoffice", "libreoffice"),
    ("lsof", "lsof"),
    ("magick", "imagemagick"),
    ("make", "make"),
    ("montage", "imagemagick"),
    ("mutool", "mupdf-tools"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("npx", "npm"),
    ("ocrmypdf", "ocrmypdf"),
    ("optipng", "optipng"),
    ("pandoc", "pandoc"),
    ("pdfimages", "poppler-utils"),
    ("pdfinfo", "poppler-utils"),
    ("pdflatex", "texlive-latex-base"),
    ("pdfseparate", "poppler-utils"),
    ("pdftk", "pdftk-java"),
    ("pdftocairo", "poppler-utils"),
    ("pdftohtml", "poppler-utils"),
    ("pdftoppm", "poppler-utils"),
    ("pdftotext", "poppler-utils"),
    ("pdfunite", "poppler-utils"),
    ("perl", "perl"),
    ("pngquant", "pngquant"),
    ("pnpm", ""),
    ("python3", "python3"),
    ("qpdf", "qpdf"),
    ("rg", "ripgrep"),
    ("rsvg-convert", "librsvg2-bin"),
    ("rsync", "rsync"),
    ("ruby", "ruby"),
    ("soffice", "libreoffice"),
    ("sox", "sox"),
    ("sqlite3", "sqlite3"),
    ("ssh", "openssh-client"),
    ("tesseract", "tesseract-ocr"),
    ("tree", "tree"),
    ("tsc", ""),
    ("unzip", "unzip"),
    ("uv", ""),
    ("wget", "wget"),
    ("wkhtmltopdf", "wkhtmltopdf"),
    ("xelatex", "texlive-xetex"),
    ("xmllint", "libxml2-utils"),
    ("xvfb-run", "xvfb"),
    ("yarn", "yarnpkg"),
    ("yt-dlp", "yt-dlp"),
    ("zip", "zip"),
];

/// Programs that only another system has. Sorted by program.
const ELSEWHERE: &[(&str, &str)] = &[
    ("afplay", "macOS"),
    ("caffeinate", "macOS"),
    ("clip.exe", "Windows"),
    ("cmd.exe", "Windows"),
    ("codesign", "macOS"),
    ("defaults", "macOS"),
    ("diskutil", "macOS"),
    ("ditto", "macOS"),
    ("dscl", "macOS"),
    ("explorer.exe", "Windows"),
    ("hdiutil", "macOS"),
    ("launchctl", "macOS"),
    ("mdfind", "macOS"),
    ("mdls", "macOS"),
    ("networksetup", "macOS"),
    ("osascript", "macOS"),
    ("pbcopy", "macOS"),
    ("pbpaste", "macOS"),
    ("plutil", "macOS"),
    ("powershell.exe", "Windows"),
    ("qlmanage", "macOS"),
    ("say", "macOS"),
    ("screencapture", "macOS"),
    ("scutil", "macOS"),
    ("sips", "macOS"),
    ("sw_vers", "macOS"),
    ("system_profiler", "macOS"),
    ("taskkill", "Windows"),
    ("tasklist", "Windows"),
    ("textutil", "macOS"),
    ("wmic", "Windows"),
    ("xcode-select", "macOS"),
    ("xcodebuild", "macOS"),
    ("xcrun", "macOS"),
];

/// Programs that every system has. Sorted.
const ALWAYS_THERE: &str = include_str!("lists/always-there.txt");

fn has(list: &str, wanted: &str) -> bool {
    list.split_whitespace().any(|name| name == wanted)
}

fn look_up(list: &[(&'static str, &'static str)], key: &str) -> Option<&'static str> {
    let at = list.binary_search_by(|(known, _)| known.cmp(&key)).ok()?;
    list.get(at).map(|(_, value)| *value)
}

/// Whether a module comes with Python.
pub(super) fn is_python_stdlib(module: &str) -> bool {
    module.starts_with('_') || has(PYTHON_STDLIB, module)
}

/// Whether a module comes with Node.
pub(super) fn is_node_builtin(module: &str) -> bool {
    let module = module.strip_prefix("node:").unwrap_or(module);
    let top = module.split('/').next().unwrap_or(module);
    has(NODE_BUILTIN, module) || has(NODE_BUILTIN, top)
}

/// Whether every system has a program.
pub(super) fn is_always_there(program: &str) -> bool {
    has(ALWAYS_THERE, program)
}

/// Whether a name is a program that instructions may mean.
pub(super) fn is_known_program(program: &str) -> bool {
    look_up(PACKAGES, program).is_some()
}

/// The package of Debian that holds a program.
pub(super) fn package_of(program: &str) -> Option<&'static str> {
    look_up(PACKAGES, program).filter(|package| !package.is_empty())
}

/// The system that alone has a program, if that is not Linux.
pub(super) fn system_of(program: &str) -> Option<&'static str> {
    look_up(ELSEWHERE, program)
}

/// The package of Debian that holds a module which no registry has.
pub(super) fn package_of_module(module: &str) -> Option<&'static str> {
    look_up(SYSTEM_MODULES, module)
}

/// The program that a distribution starts.
pub(super) fn program_of_distribution(name: &str) -> Option<&'static str> {
    look_up(STARTED_BY, &normal_distribution(name))
}

/// The distribution that holds an imported module.
pub(super) fn distribution_of(module: &str) -> String {
    let mut prefix = module;
    loop {
        if let Some(name) = look_up(NAMESPACED, prefix) {
            return name.to_owned();
        }
        match prefix.rsplit_once('.') {
            Some((up, _)) => prefix = up,
            None => break,
        }
    }
    look_up(DISTRIBUTIONS, prefix).unwrap_or(prefix).to_owned()
}

/// The spelling by which distributions are compared.
pub(super) fn normal_distribution(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        for list in [PYTHON_STDLIB, NODE_BUILTIN, ALWAYS_THERE] {
            assert!(list.split_whitespace().is_sorted());
        }
        let lists = [DISTRIBUTIONS, ELSEWHERE, NAMESPACED, PACKAGES, STARTED_BY, SYSTEM_MODULES];
        for list in lists {
            assert!(list.is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn distributions() {
        assert_eq!(distribution_of("PIL.Image"), "Pillow");
        assert_eq!(distribution_of("google.protobuf.text_format"), "protobuf");
        assert_eq!(distribution_of("numpy.linalg"), "numpy");
        assert_eq!(normal_distribution("Foo_Bar.baz"), "foo-bar-baz");
    }
}

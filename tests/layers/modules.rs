//! The modules of a crate and the names in them, read from the root file along `mod` declarations.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    path::{Path, PathBuf},
};

use super::source;

/// The path of a module from the root of its crate: `["store", "log"]`.
pub(super) type ModulePath = Vec<String>;

/// Keywords in front of the name of an item.
const ITEMS: [&str; 8] = ["struct", "enum", "trait", "fn", "const", "static", "type", "union"];

/// A module: a file, or a block `mod name { … }` in one.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub file: PathBuf,
    pub children: HashSet<String>,
    pub definitions: HashSet<String>,
    /// Names in calls and definitions of macros, any of which may be that of an item that the macro makes.
    pub in_macros: HashSet<String>,
    /// Imported names and the paths they stand for, as written.
    pub imports: HashMap<String, ModulePath>,
    /// Paths of glob imports, as written.
    pub globs: Vec<ModulePath>,
    /// Paths that are imported for this module's own use, not re-exported.
    pub private: HashSet<ModulePath>,
    /// Paths in the code itself.
    pub mentions: HashSet<ModulePath>,
}

/// The modules of one crate.
#[derive(Debug)]
pub(super) struct Modules {
    pub by_path: HashMap<ModulePath, Module>,
    /// Modules that are declared and have no file.
    pub missing: Vec<String>,
    pub paths: Paths,
    /// True if the file of a module depends on a feature (`cfg_attr(…, path = "…")`).
    pub has_alternatives: bool,
}

/// Which file a module with a conditional path is read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Paths {
    /// The file named for the module.
    Default,
    /// The file in its `cfg_attr(…, path = "…")`.
    Conditional,
}

/// A file to be read as a module.
struct Pending {
    path: ModulePath,
    file: PathBuf,
    /// The folder of the files of its children.
    folder: PathBuf,
}

/// A declaration `mod name;`.
struct Declaration {
    parent: ModulePath,
    /// The blocks `mod name { … }` around it, below the file's own module.
    blocks: ModulePath,
    name: String,
    /// The file in its attribute `path`, and whether that depends on a feature.
    path: Option<(String, bool)>,
}

impl Modules {
    /// Reads the crate with this root file; `read` returns the content of a file, or `None` if there is none.
    pub(super) fn read(root: &Path, paths: Paths, read: &dyn Fn(&Path) -> Option<String>) -> Modules {
        let mut modules = Modules { by_path: HashMap::new(), missing: Vec::new(), paths, has_alternatives: false };
        let folder = root.parent().unwrap().to_owned();
        let mut pending = VecDeque::from([Pending { path: Vec::new(), file: root.to_owned(), folder }]);
        while let Some(next) = pending.pop_front() {
            let Some(text) = read(&next.file) else {
                modules.missing.push(next.file.display().to_string());
                continue;
            };
            let code = source::code(&text);
            let mut reader = Reader { file: &next.file, modules: &mut modules, declarations: Vec::new() };
            reader.module(next.path.clone(), &[], &source::tokens(&code));
            for declaration in reader.declarations {
                modules.has_alternatives |= matches!(declaration.path, Some((_, true)));
                match declaration.file(&next, paths, read) {
                    Some(file) => pending.push_back(file),
                    None => modules.missing.push(format!("{}: mod {}", next.file.display(), declaration.name)),
                }
            }
        }
        modules
    }

    /// Returns the files of all modules.
    pub(super) fn files(&self) -> BTreeSet<&Path> {
        self.by_path.values().map(|module| module.file.as_path()).collect()
    }
}

impl Declaration {
    /// Returns the file of the declared module.
    fn file(&self, parent: &Pending, paths: Paths, read: &dyn Fn(&Path) -> Option<String>) -> Option<Pending> {
        let path = [self.parent.as_slice(), std::slice::from_ref(&self.name)].concat();
        let given = self.path.as_ref().filter(|(_, is_conditional)| !is_conditional || paths == Paths::Conditional);
        if let Some((name, _)) = given {
            let file = parent.file.parent().unwrap().join(name);
            let folder = file.parent().unwrap().to_owned();
            return Some(Pending { path, file, folder });
        }
        let folder = self.blocks.iter().fold(parent.folder.clone(), |folder, block| folder.join(block));
        let own = folder.join(&self.name);
        let candidates = [folder.join(format!("{}.rs", self.name)), own.join("mod.rs")];
        let file = candidates.into_iter().find(|file| read(file).is_some())?;
        Some(Pending { path, file, folder: own })
    }
}

/// Reads the modules of one file.
struct Reader<'a> {
    file: &'a Path,
    modules: &'a mut Modules,
    declarations: Vec<Declaration>,
}

impl Reader<'_> {
    fn module(&mut self, own: ModulePath, blocks: &[String], tokens: &[&str]) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let (mut index, mut depth, mut path_attribute) = (0, 0, None);
        while index < tokens.len() {
            let (token, next) = (tokens[index], tokens.get(index + 1).copied().unwrap_or_default());
            let is_at_root = depth == 0;
            match token {
                "{" => depth += 1,
                "}" => depth -= 1,
                "#" if is_at_root && next == "[" => {
                    let end = index + 1 + source::matching(&tokens[index + 1..]);
                    path_attribute = path_of_attribute(&tokens[index + 2..end]).or(path_attribute);
                }
                "use" if next != "<" => {
                    let end = index + tokens[index..].iter().position(|token| *token == ";").unwrap();
                    let is_public = index > 0 && ["pub", ")"].contains(&tokens[index - 1]);
                    module.import(&tokens[index + 1..end], is_public);
                    index = end;
                }
                "mod" if is_at_root => {
                    module.children.insert(next.to_owned());
                    index += 1 + self.child(&own, blocks, path_attribute.take(), &tokens[index + 1..]);
                }
                _ if is_at_root && ITEMS.contains(&token) => {
                    module.definitions.insert(next.to_owned());
                    path_attribute = None;
                }
                _ if is_name(token) && (index == 0 || ![".", "::"].contains(&tokens[index - 1])) => {
                    index += module.mention(&tokens[index..]);
                    if is_at_root && tokens.get(index + 1) == Some(&"!") {
                        module.read_macro(&tokens[index + 2..]);
                    }
                }
                _ => {}
            }
            index += 1;
        }
        self.modules.by_path.insert(own, module);
    }

    /// Reads the block `name { … }` as a module, or notes the declaration `name;`. Returns the number of tokens that follow
    /// the name.
    fn child(&mut self, own: &ModulePath, blocks: &[String], path: Option<(String, bool)>, tokens: &[&str]) -> usize {
        let name = tokens[0].to_owned();
        if tokens[1] != "{" {
            self.declarations.push(Declaration { parent: own.clone(), blocks: blocks.to_vec(), name, path });
            return 1;
        }
        let length = source::matching(&tokens[1..]);
        let (child, blocks) =
            ([own.as_slice(), std::slice::from_ref(&name)].concat(), [blocks, std::slice::from_ref(&name)].concat());
        self.module(child, &blocks, &tokens[2..length]);
        length
    }
}

/// Returns the file in an attribute `path = "…"` or `cfg_attr(…, path = "…")`, and whether it is conditional.
fn path_of_attribute(attribute: &[&str]) -> Option<(String, bool)> {
    let at = attribute.windows(2).position(|tokens| tokens == ["path", "="])?;
    let is_conditional = attribute[0] == "cfg_attr";
    let text = attribute.get(at + 2)?.strip_prefix('"')?.strip_suffix('"')?;
    (at == 0 || is_conditional).then(|| (text.to_owned(), is_conditional))
}

impl Module {
    /// Adds the names in the arguments of a macro, such as `{ static NAME … }` of `thread_local!`, or in its definition.
    fn read_macro(&mut self, tokens: &[&str]) {
        let defined = tokens.first().filter(|token| is_name(token));
        let body = &tokens[usize::from(defined.is_some())..];
        let names = body[..source::matching(body)].iter().filter(|token| is_name(token));
        self.in_macros.extend(names.map(|name| (*name).to_owned()));
        self.definitions.extend(defined.map(|name| (*name).to_owned()));
    }

    /// Adds the path that the tokens start with, and returns how many tokens follow its first name.
    fn mention(&mut self, tokens: &[&str]) -> usize {
        let mut path = vec![tokens[0].to_owned()];
        let names = tokens[1..].chunks_exact(2).take_while(|pair| pair[0] == "::" && is_name(pair[1]));
        path.extend(names.map(|pair| pair[1].to_owned()));
        let more = (path.len() - 1) * 2;
        // `self` alone is a value.
        if path.len() > 1 || !["crate", "self", "super"].contains(&tokens[0]) {
            self.mentions.insert(path);
        }
        more
    }

    /// Adds the names of a use tree.
    fn import(&mut self, tree: &[&str], is_public: bool) {
        let mut leaves = Vec::new();
        leaves_of(&[], tree, &mut leaves);
        for (path, name) in leaves {
            if name == "*" {
                self.globs.push(path);
                continue;
            }
            if !is_public {
                self.private.insert(path.clone());
            }
            self.imports.insert(name, path);
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Adds the leaves of a use tree: their paths and the names they are imported as.
fn leaves_of(start: &[String], tree: &[&str], leaves: &mut Vec<(ModulePath, String)>) {
    let mut path = start.to_vec();
    let mut index = 0;
    while index < tree.len() {
        match tree[index] {
            "::" => {}
            "{" => {
                for branch in branches(&tree[index + 1..index + source::matching(&tree[index..]) - 1]) {
                    leaves_of(&path, branch, leaves);
                }
                return;
            }
            "as" => return leaves.push((path, tree[index + 1].to_owned())),
            "*" => return leaves.push((path, "*".into())),
            // Of a group: the module itself.
            "self" if !start.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        index += 1;
    }
    if let Some(name) = path.last().cloned() {
        leaves.push((path, name));
    }
}

fn branches<'a, 'b>(group: &'a [&'b str]) -> Vec<&'a [&'b str]> {
    let (mut branches, mut start, mut depth) = (Vec::new(), 0, 0);
    for (index, token) in group.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                branches.push(&group[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    branches.push(&group[start..]);
    branches.into_iter().filter(|branch| !branch.is_empty()).collect()
}
